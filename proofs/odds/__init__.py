"""How probable what INTERACT can do is, where each agent's judgements are drawn by chance."""

from proofs.odds.behaviour import Behaviour, Player
from proofs.odds.exact import exact, lengths
from proofs.odds.results import Odds

__all__ = ["Behaviour", "Odds", "Player", "exact", "lengths"]
