"""The check: `pxp check greetings` looks for phrases whose language nobody could predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pxp_fsm as pxp
from greetings.task import PHRASES as LANGUAGES

ONE_LANGUAGE = pxp.proofs.NamedProperty(
    "one-language",
    "greetings",
    "each phrase has one language",
    "Fails for a phrase without a language; name one for it in LANGUAGES.",
)


class Phrases:
    """The phrases of the task, as something that `pxp check` can check."""

    kind = "phrases"

    def accepts(self, given: Any) -> bool:
        return bool(given == "greetings")

    def properties(self) -> tuple[pxp.proofs.NamedProperty, ...]:
        return (ONE_LANGUAGE,)

    def results(self, request: pxp.proofs.Request) -> Iterator[pxp.proofs.Result]:
        if not request.wants(ONE_LANGUAGE.name):
            return
        silent = [phrase for phrase, language in LANGUAGES.items() if not language.strip()]
        holds, fails = pxp.proofs.Status.HOLDS, pxp.proofs.Status.FAILS
        verdict = pxp.proofs.Verdict(fails if silent else holds, ", ".join(silent))
        name, subject, title, _about = ONE_LANGUAGE
        yield pxp.proofs.Result(subject, name, title, "", verdict, holds)


PHRASES = Phrases()
