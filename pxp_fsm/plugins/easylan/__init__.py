"""Networks of LLM agents (LANs), which run and are trained from few examples (EasyLAN)."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.easylan.distance.lmd import network_distance as network_distance
    from pxp_fsm.plugins.easylan.distance.lmd import operations as operations
    from pxp_fsm.plugins.easylan.distance.lmd import text_cost as text_cost
    from pxp_fsm.plugins.easylan.experiments.scoring import scored as scored
    from pxp_fsm.plugins.easylan.experiments.tasks import LanTask as LanTask
    from pxp_fsm.plugins.easylan.experiments.tasks import load_task as load_task
    from pxp_fsm.plugins.easylan.lan import Lan as Lan
    from pxp_fsm.plugins.easylan.model.files import draft_faults as draft_faults
    from pxp_fsm.plugins.easylan.model.history import Conflict as Conflict
    from pxp_fsm.plugins.easylan.model.network import Control as Control
    from pxp_fsm.plugins.easylan.model.network import LanAgent as LanAgent
    from pxp_fsm.plugins.easylan.model.network import Network as Network
    from pxp_fsm.plugins.easylan.model.operations import Connect as Connect
    from pxp_fsm.plugins.easylan.model.operations import Create as Create
    from pxp_fsm.plugins.easylan.serialization import response_from_json as response_from_json
    from pxp_fsm.plugins.easylan.serialization import to_json as to_json
    from pxp_fsm.plugins.easylan.studio.pages import studio_site as studio_site
    from pxp_fsm.plugins.easylan.studio.work import StudioPlan as StudioPlan
    from pxp_fsm.plugins.easylan.training.developer import Act as Act
    from pxp_fsm.plugins.easylan.training.developer import Confirms as Confirms
    from pxp_fsm.plugins.easylan.training.developer import Continuation as Continuation
    from pxp_fsm.plugins.easylan.training.developer import Developer as Developer
    from pxp_fsm.plugins.easylan.training.developer import DeveloperChoice as DeveloperChoice
    from pxp_fsm.plugins.easylan.training.developer import DeveloperQuestion as DeveloperQuestion
    from pxp_fsm.plugins.easylan.training.developer import Judged as Judged
    from pxp_fsm.plugins.easylan.training.developer import RegressionChoice as RegressionChoice
    from pxp_fsm.plugins.easylan.training.developer import StepView as StepView
    from pxp_fsm.plugins.easylan.training.pipeline import Trainer as Trainer
    from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits as TrainingLimits
    from pxp_fsm.plugins.easylan.training.progress import Example as Example
    from pxp_fsm.plugins.easylan.training.questions import NotAsked as NotAsked
    from pxp_fsm.plugins.easylan.training.questions import Remote as Remote
    from pxp_fsm.plugins.easylan.training.supervision import StepEnded as StepEnded
    from pxp_fsm.plugins.easylan.training.supervision import Supervision as Supervision

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.easylan.distance.lmd": "network_distance operations text_cost",
        "pxp_fsm.plugins.easylan.experiments.scoring": "scored",
        "pxp_fsm.plugins.easylan.experiments.tasks": "LanTask load_task",
        "pxp_fsm.plugins.easylan.lan": "Lan",
        "pxp_fsm.plugins.easylan.model.files": "draft_faults",
        "pxp_fsm.plugins.easylan.model.history": "Conflict",
        "pxp_fsm.plugins.easylan.model.network": "Control LanAgent Network",
        "pxp_fsm.plugins.easylan.model.operations": "Connect Create",
        "pxp_fsm.plugins.easylan.serialization": "response_from_json to_json",
        "pxp_fsm.plugins.easylan.studio.pages": "studio_site",
        "pxp_fsm.plugins.easylan.studio.work": "StudioPlan",
        "pxp_fsm.plugins.easylan.training.developer": "Act Confirms Continuation Developer "
        "DeveloperChoice DeveloperQuestion Judged RegressionChoice StepView",
        "pxp_fsm.plugins.easylan.training.pipeline": "Trainer TrainingLimits",
        "pxp_fsm.plugins.easylan.training.progress": "Example",
        "pxp_fsm.plugins.easylan.training.questions": "NotAsked Remote",
        "pxp_fsm.plugins.easylan.training.supervision": "StepEnded Supervision",
    },
)
