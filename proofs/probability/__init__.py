"""Probabilities of the outcomes of INTERACT, where each agent's judgements are random."""

from proofs.probability.behaviour import Behaviour, Player
from proofs.probability.exact import exact, lengths
from proofs.probability.results import Odds

__all__ = ["Behaviour", "Odds", "Player", "exact", "lengths"]
