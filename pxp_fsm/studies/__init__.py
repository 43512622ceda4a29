"""Studies with people: a study file, the lifecycle of its participants, what their pages show."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.studies.conduct import Conduct as Conduct
    from pxp_fsm.studies.export import export_study as export_study
    from pxp_fsm.studies.files import Study as Study
    from pxp_fsm.studies.files import load_study as load_study
    from pxp_fsm.studies.lifecycles import prove as prove
    from pxp_fsm.studies.views import page_bytes as page_bytes
    from pxp_fsm.studies.views import participant_page as participant_page
    from pxp_fsm.studies.views import view as view

__getattr__, __dir__ = door(globals())
