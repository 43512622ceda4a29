"""Studies with people: a study file, the lifecycle of its participants, what their pages show."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.plugins.studies.conduct import Conduct as Conduct
    from pxp_fsm.plugins.studies.export import export_study as export_study
    from pxp_fsm.plugins.studies.files import Study as Study
    from pxp_fsm.plugins.studies.files import load_study as load_study
    from pxp_fsm.plugins.studies.lifecycles import prove as prove
    from pxp_fsm.plugins.studies.pages.server import serve_study as serve_study
    from pxp_fsm.plugins.studies.views import page_bytes as page_bytes
    from pxp_fsm.plugins.studies.views import participant_page as participant_page
    from pxp_fsm.plugins.studies.views import view as view

__getattr__, __dir__ = door(globals())
