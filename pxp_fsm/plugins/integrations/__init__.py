"""Recordings and tasks of other tools: Inspect, OpenTelemetry."""
