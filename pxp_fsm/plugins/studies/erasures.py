"""What was said by whoever withdraws is erased, with who they were; then the pages of the files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from backends.databases import SqlBlackboard, erasure
from backends.databases.disclosure import Export, exports_of
from backends.databases.locks import RunLocked
from pxp_fsm.errors import BlackboardError, NotThere
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.participations import Participation, runs_of


class Erasures:
    """Erasures of the study `run` on `board`; `done` are the participants whose texts are gone.

    `unclean` says that pages of the database's files may still hold what was erased: until `clean`,
    and after it where another process has them open.
    """

    def __init__(self, board: SqlBlackboard, run: str) -> None:
        self._board, self._run = board, run
        erased = (erasure.session for erasure in board.erasures(run))
        self.done = {name.removeprefix(f"{run}/") for name in erased}
        self.unclean = board.read(erasure.may_remain)  # who erased them may have been killed

    def erase(self, names: Iterable[str]) -> bool:
        """Erase these runs or sessions, as far as they are stored; whether all were.

        False where another process works on one of them: nothing of that one is erased then.
        """
        for name in names:
            try:
                erasure.erase(self._board, erasure.sessions_of(self._board, [name]))
            except NotThere:
                continue
            except RunLocked:
                return False
        return True

    def finish(self, subject: str) -> None:
        """Erase the lifecycle of `subject`, and who they were."""
        if self.erase([f"{self._run}/{subject}"]):
            self.forget(subject)
            self.done.add(subject)

    def forget(self, subject: str | None = None) -> None:
        """Remove who somebody was, and their links; None is everybody."""
        erasure.forget(self._board, self._run, subject)
        self.unclean = True

    def clean(self) -> None:
        """Rewrite the database's files, if they may still hold what was erased."""
        if self.unclean:
            with suppress(BlackboardError):
                erasure.clean(self._board)
                self.unclean = False


def given_out(
    study: Study, board: SqlBlackboard, people: Iterable[Participation]
) -> tuple[str, ...]:
    """Files that hold what somebody said who has withdrawn since: a line each, oldest first.

    No erasure reaches them; whoever has them is to be told.
    """
    erased = {erasure.session: erasure.created for erasure in board.erasures(study.run)}
    held = defaultdict[Export, list[str]](list)
    for person in people:
        for exported in exports_of(board, [study.run, *runs_of(study, person)]):
            file = exported._replace(run=study.run)
            if exported.created <= erased.get(person.name, "") and person.subject not in held[file]:
                held[file].append(person.subject)
    return tuple(
        f"{file.kind} {file.name}, given out {file.created[:16]}, "
        f"{_holds(file.kind, ', '.join(subjects))} (SHA-256 {file.digest[:12]})"
        for file, subjects in sorted(held.items(), key=lambda item: item[0].created)
        if subjects
    )


def _holds(kind: str, subjects: str) -> str:
    return f"says who {subjects} is" if kind == "identifiers" else f"holds what {subjects} said"
