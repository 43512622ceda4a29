"""Tests of the pages, of the server behind them, and of the files that need none."""
