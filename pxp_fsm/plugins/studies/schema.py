"""The JSON Schema of study files; that of arms and tasks is made from the options of a `Plan`."""

from __future__ import annotations

from functools import cache
from typing import Any

from pxp_fsm import options, registry
from pxp_fsm.experiments.plans import Plan

_NAME = r"^[a-z][a-z0-9-]{0,39}$"
OF_ARM = ("protocol", "n", "k", "memo", "machine", "judge", "preset", "effort", "scope", "votes")
OF_TASK = ("task", "data", "instances", "label", "order")
"""The options of a `Plan` that an arm sets, and those that a task sets."""
NETWORK_CONDITIONS = ("easylan", "manual")
"""What an arm of a study of networks does: supervise EasyLAN, or edit by hand."""
_NEEDED = (
    "format", "name", "title", "experts", "consent", "instructions", "debrief", "arms", "tasks",
)  # fmt: skip


def network_tasks() -> dict[str, str]:
    """The tasks of networks of LLM agents by name, where the plug-in that has them is there."""
    entry = registry.contribution("lists", "networks")
    tasks: dict[str, str] = {} if entry is None else registry.load(entry.body)()
    return tasks


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of study files, published as `study.schema.json`."""
    name = {"type": "string", "pattern": _NAME}
    text = {"type": "string", "minLength": 1}
    texts = {"type": "array", "items": text}

    def table(needs: str, told: str, /, **properties: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "description": told,
            "additionalProperties": False,
            "required": needs.split(),
            "properties": properties,
        }

    def listed(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
        return {"type": "array", "items": items, "minItems": least}

    item: dict[str, Any] = {
        "name": name,
        "text": text,
        "choices": listed(text, 2),
    }
    question = table(
        "name text",
        "A question. With choices one of them is the answer.",
        **item,
        kind={"enum": ["text", "number", "choice", "scale"], "description": "Left out, text, or "
              "choice where there are choices; scale is a number from 1 to 7."},
        required={"type": "boolean", "description": "Left out, true."},
    )  # fmt: skip
    training = table(
        "name text answer",
        "A training item: it is explained once it was answered.",
        **item,
        answer=text,
        explanation=text,
    )
    fields = options.schema(
        Plan,
        {"agents": "As in an experiment.", "learning": "As in an experiment."},
    )
    flat = {**fields, **fields["agents"]["properties"]}
    arm = table(
        "name about",
        "An arm: with whom a participant works, and by which protocol.",
        name=name,
        about={**text, "description": "What the debrief says of it."},
        blinded={"type": "boolean", "description": "Whether the page keeps silent on the partner "
                 "until the debrief. Left out, false."},
        condition={"enum": list(NETWORK_CONDITIONS), "description": "In a study of networks: "
                   "supervise EasyLAN, or edit by hand."},
        **{key: flat[key] for key in OF_ARM},
    )  # fmt: skip
    task = table(
        "name",
        "A task: what the sessions of one run are about.",
        name=name,
        about=text,
        network={"enum": list(network_tasks()), "description": "A task of networks of LLM agents."},
        **{key: flat[key] for key in OF_TASK},
    )
    seconds = {"type": "number", "exclusiveMinimum": 0, "maximum": 86400}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:pxp-fsm:study:1",
        "title": "A study of pxp-fsm",
        "description": "What participants are told, asked and given, and in which order.",
        "type": "object",
        "additionalProperties": False,
        "required": list(_NEEDED),
        "properties": {
            "format": {"const": 1, "description": "The version of this format."},
            "name": {**name, "description": "What its runs are called."},
            "title": text,
            "seed": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1,
                     "description": "Draws the assignment and the slots. Left out, 0."},
            "experts": {"type": "integer", "minimum": 1, "maximum": 10000,
                        "description": "How many can take part."},
            "design": {"enum": ["within", "between"], "description": "Whether each participant "
                       "meets all arms, or one. Left out, within."},
            "tags": {"enum": ["named", "relations"], "description": "Whether the expert names the "
                     "tags, or answers MATCH and AGREE. Left out, named."},
            "tools": {"enum": ["forbidden", "allowed"], "description": "Whether participants may "
                      "use tools such as language models. Left out, forbidden."},
            "pasting": {"type": "boolean", "description": "Whether text may be pasted. Left out, "
                        "true; each paste is counted."},
            "deadline": {**seconds, "maximum": 31536000, "description": "Seconds without a sign "
                         "after which a participant has lapsed. Left out, 1209600: two weeks."},
            "slots": table("least most", "A partner's answer is shown at the end of a slot: so "
                           "many seconds after the question, drawn from the seed.",
                           least=seconds, most=seconds),
            "longest": {"type": "integer", "minimum": 100, "maximum": 100000, "description":
                        "Characters of an explanation of a blinded partner that are shown. Left "
                        "out, 1000."},
            "consent": table("version text providers retention contact copy",
                             "What a participant agrees to.", version=text, text=text,
                             providers={**texts, "description": "Who receives what is typed."},
                             retention=text, contact=text, copy=text),
            "instructions": text,
            "training": table("items", "What is practised before the first task.",
                              items=listed(training, 1),
                              attempts={"type": "integer", "minimum": 1, "maximum": 10,
                                        "description": "How often it may be tried. Left out, 2."}),
            "before": listed(question),
            "after": listed(question),
            "debrief": {**text, "description": "What the study was about; each arm's about is "
                        "shown with it."},
            "attribution": {**text, "description": "Sources that are named at the debrief, since "
                            "a link may tell an answer."},
            "payment": table("link codes", "How participants are paid.",
                             parameters={**texts, "description": "The parameters that a panel adds "
                                         "to the address, such as PROLIFIC_PID."},
                             link={"type": "string", "pattern": r"^https://[^\s]*\{code\}[^\s]*$"},
                             codes=table("done", "The code for each way to leave.", done=text,
                                         declined=text, withdrawn=text)),
            "arms": {**listed(arm, 1), "maxItems": 20},
            "tasks": {**listed(task, 1), "maxItems": 50},
        },
    }  # fmt: skip
