"""Where the claims of the catalogue are from: a place of a paper, or this package.

[A] is arXiv 2301.01819 as the others cite it, [B] arXiv 2410.20600, [C] its NeurIPS 2025 workshop
version.
"""

from __future__ import annotations

from types import MappingProxyType

from proofs.claims.catalogue import Claim

OWN = "this package"

_DEFINITIONS = "[B] Definitions 1 and 2"
_REPLIES = "[A] Proposition 5"

SOURCES = MappingProxyType(
    {
        "interact.decides-as-written": "[B] Procedure 2",
        "interact.stops-as-written": "[B] Procedure 1",
        "interact.takes-all-bounds": "[B] Procedure 1; Procedure 2 has k > 1",
        "interact.terminates": "[B] Procedure 1",
        "interact.reject-after-k": "[B] Procedure 2",
        "interact.revised-never": "[B] section 4.3, which names the sequence as hypothetical",
        "interact.strong-once": "observed in [B] section 4.3 and [C] section 5.4",
        "interact.never-ultra": "observed in [B] Figure 4 and [C] Table 1",
        "interact.refuted-never": "[B] section 4.3, which reports the sequence",
        "interact.ultra-is-strong": _DEFINITIONS,
        "interact.strong-is-one-way": _DEFINITIONS,
        "interact.two-way-is-both": "[B] section 2",
        "pxp.decides-as-written": "[A], cited in [B] section 2",
        "pxp.replies-INIT": _REPLIES,
        "pxp.replies-RATIFY": _REPLIES,
        "pxp.replies-REVISE": _REPLIES,
        "pxp.replies-REJECT": _REPLIES,
    }
)
"""The sources of claims by `Claim.id`; all others are of this package."""


def source_of(claim: Claim) -> str:
    """Where a claim is from.

    >>> from proofs.claims.catalogue import find
    >>> [source_of(claim) for claim in find("refuted-never")]
    ['[B] section 4.3, which reports the sequence']
    """
    return SOURCES.get(claim.id, OWN)
