"""How a database of an older version becomes one of this: tables and rows; see `versions.py`."""
