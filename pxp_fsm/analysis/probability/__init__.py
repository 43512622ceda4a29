"""The odds of sessions, as asked for, as estimated from runs, and set beside what was observed."""
