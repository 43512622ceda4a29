"""UED and LMD: what manual operations cost."""
