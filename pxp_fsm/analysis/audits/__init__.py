"""Audits of recorded sessions: databases and the published code's own files, as text and pages."""
