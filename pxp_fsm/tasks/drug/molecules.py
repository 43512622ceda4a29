"""Properties of molecules by which rows of DRUG are selected ([C], appendix B)."""

from __future__ import annotations

from guards.relations.chemistry import canonical_smiles


def weight(smiles: str) -> float:
    """The average molecular weight of `smiles`, in g/mol; raises `DataError` where it is none.

    >>> f"{weight('CC(=O)Nc1ccc(O)cc1'):.2f}"
    '151.16'
    """
    from rdkit.Chem import MolFromSmiles, rdMolDescriptors

    return float(rdMolDescriptors._CalcMolWt(MolFromSmiles(canonical_smiles(smiles))))


def aromatic_rings(smiles: str) -> int:
    """How many aromatic rings `smiles` has; raises `DataError` where it is no molecule."""
    from rdkit.Chem import MolFromSmiles, rdMolDescriptors

    return int(rdMolDescriptors.CalcNumAromaticRings(MolFromSmiles(canonical_smiles(smiles))))
