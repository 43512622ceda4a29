"""How probable what INTERACT can do is, where each agent's judgements are drawn by chance."""

from proofs.probability.behaviour import Behaviour, Player
from proofs.probability.exact import exact, lengths
from proofs.probability.results import Odds

__all__ = ["Behaviour", "Odds", "Player", "exact", "lengths"]
