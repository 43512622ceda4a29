"""`pxp serve NETWORK`: a network in a browser, edited, run and trained."""

from __future__ import annotations

from functools import partial

from pxp_fsm import web
from pxp_fsm.cli.pages import require_server, show_address
from pxp_fsm.errors import require_extra
from pxp_fsm.plugins.easylan.cli import options
from pxp_fsm.plugins.easylan.cli.network import prompts_file, set_of
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.studio.pages import studio_site
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits


def serve(request: options.ServeNetwork) -> None:
    """Serve the studio of a network until Ctrl-C."""
    require_server("the studio's server")
    require_extra("lan", "what an edit costs in the studio", {"numpy": "NumPy"})
    settings = set_of(options.TrainingSettings, request.assignments)
    plan = StudioPlan(
        model=request.machine,
        updater=settings.updater,
        judge=settings.judge,
        prompts=prompts_file(settings),
        limits=TrainingLimits(settings.iterations, settings.retries),
        database=request.database,
        settings=request.models.settings,
    )
    some = () if request.examples is None else setup.examples(request.examples)

    with studio_site(request.network, plan, some) as site:
        web.serve(site, request.port or 0, partial(show_address, "Studio", request.browser))
