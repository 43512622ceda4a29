"""DRUG: retrosynthesis of approved small-molecule drugs."""
