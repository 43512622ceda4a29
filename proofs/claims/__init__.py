"""Claims about PXP and INTERACT, theorems and certificates."""
