"""What was recorded: the runs of a database by name, and whether their tables are today's."""

from __future__ import annotations

from collections.abc import Sequence

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from backends.databases.recordings import RecordedSession
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.tables import BUILTIN, builtin


def chosen_runs(
    board: SqlBlackboard, names: Sequence[str], purpose: str = "to report"
) -> tuple[RunRecord, ...]:
    """The runs called `names`, each once, or all where none is named; `NotThere` if there is none.

    `purpose` is what they are wanted for, for the error.
    """
    known = {record.run: record for record in board.runs()}
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        which = ", ".join(map(quoted, unknown)) or purpose
        raise NotThere(f"{board.shown} has no run {which}; there are: {', '.join(known) or 'none'}")
    return tuple(known[name] for name in dict.fromkeys(names or known))


def check_table(record: SessionRecord | RecordedSession) -> None:
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
