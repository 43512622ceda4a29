"""Sessions of PXP and INTERACT as models, for any data."""
