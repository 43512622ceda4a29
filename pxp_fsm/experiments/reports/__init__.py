"""Reports: what runs came to, as one page without a network, and as CSV, JSON and LaTeX."""
