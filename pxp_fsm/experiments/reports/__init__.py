"""Reports of runs, as a self-contained web page and as CSV, JSON and LaTeX."""
