"""Models that give answers: local predictors, and models on servers."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from backends.models.catalogue import ModelFacts as ModelFacts
    from backends.models.catalogue import Price as Price
    from backends.models.catalogue import Rates as Rates
    from backends.models.catalogue import Server as Server
    from backends.models.catalogue import parse_model_name as parse_model_name
    from backends.models.member import ModelMember as ModelMember
    from backends.models.middleware.budget import Budget as Budget
    from backends.models.middleware.budget import capped as capped
    from backends.models.middleware.cache import CallCache as CallCache
    from backends.models.paper_settings import adapted as adapted
    from backends.models.paper_settings import presets as presets
    from backends.models.registry import Serving as Serving
    from backends.models.registry import check_model as check_model
    from backends.models.registry import open_model as open_model
    from backends.models.respondent import ModelRespondent as ModelRespondent
    from backends.models.respondent import assemble as assemble
    from backends.models.scripts import ScriptedModel as ScriptedModel
    from backends.models.scripts import read_script as read_script
    from backends.models.settings import Settings as Settings
    from pxp_fsm.prompting.framing import unframed as unframed
    from pxp_fsm.prompting.model import Call as Call
    from pxp_fsm.prompting.model import Capability as Capability
    from pxp_fsm.prompting.model import ChatRole as ChatRole
    from pxp_fsm.prompting.model import ChatTurn as ChatTurn
    from pxp_fsm.prompting.model import ModelRequest as ModelRequest
    from pxp_fsm.prompting.model import Reply as Reply
    from pxp_fsm.prompting.model import Usage as Usage
    from pxp_fsm.prompting.model import fingerprint as fingerprint
    from pxp_fsm.prompting.model import layered as layered
    from pxp_fsm.prompting.prompts import Prompts as Prompts
    from pxp_fsm.prompting.prompts import read_prompts as read_prompts

__getattr__, __dir__ = attach(
    globals(),
    {
        "backends.models.catalogue": "ModelFacts Price Rates Server parse_model_name",
        "backends.models.member": "ModelMember",
        "backends.models.middleware.budget": "Budget capped",
        "backends.models.middleware.cache": "CallCache",
        "backends.models.paper_settings": "adapted presets",
        "backends.models.registry": "Serving check_model open_model",
        "backends.models.respondent": "ModelRespondent assemble",
        "backends.models.scripts": "ScriptedModel read_script",
        "backends.models.settings": "Settings",
        "pxp_fsm.prompting.framing": "unframed",
        "pxp_fsm.prompting.model": "Call Capability ChatRole ChatTurn ModelRequest "
        "Reply Usage fingerprint layered",
        "pxp_fsm.prompting.prompts": "Prompts read_prompts",
    },
)
