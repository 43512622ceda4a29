"""`pxp lan serve`: a network in a browser, edited, run and trained."""

from __future__ import annotations

from pxp_fsm.cli.pages import require_server, show_address
from pxp_fsm.errors import require_extra
from pxp_fsm.plugins.easylan.cli import options
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.studio.server import serve_studio
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits


def serve(request: options.LanServeOptions) -> None:
    """Serve the studio of a network until Ctrl-C."""
    require_server("the studio's server")
    require_extra("lan", "what an edit costs in the studio", {"numpy": "NumPy"})
    plan = StudioPlan(
        model=request.model,
        updater=request.updater,
        judge=request.judge,
        prompts=request.prompts,
        limits=TrainingLimits(request.iterations, request.retries),
        database=request.database,
        settings=request.models,
    )
    some = () if request.examples is None else setup.examples(request.examples)

    def ready(address: str) -> None:
        show_address("Studio", address, request.browser)

    serve_studio(request.network, plan, some, request.port, ready)
