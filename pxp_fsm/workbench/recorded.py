"""What was recorded beside what is here today: whether the tables still are the same."""

from __future__ import annotations

from backends.databases import SessionRecord
from pxp_fsm.errors import UsageError
from pxp_fsm.tables import BUILTIN, builtin


def check_table(record: SessionRecord) -> None:
    """Raise `UsageError` where today's table of that name is not the one the session followed.

    Of a researcher's own table only the name is recorded: nothing can be compared.
    """
    if record.automaton not in BUILTIN:
        return
    today = builtin(record.automaton).fingerprint
    if record.fingerprint != today:
        raise UsageError(
            f"session {record.session} followed another table {record.automaton} (fingerprint "
            f"{record.fingerprint[:12]}, today's is {today[:12]}); use the version of the package "
            f"that recorded it, or start a new run"
        )
