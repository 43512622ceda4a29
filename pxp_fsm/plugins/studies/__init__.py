"""Studies with people: a study file, the lifecycle of its participants, what their pages show."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.studies.conduct import Conduct as Conduct
    from pxp_fsm.plugins.studies.export import export_study as export_study
    from pxp_fsm.plugins.studies.files import Study as Study
    from pxp_fsm.plugins.studies.files import load_study as load_study
    from pxp_fsm.plugins.studies.lifecycles import prove as prove
    from pxp_fsm.plugins.studies.pages.participants import study_site as study_site
    from pxp_fsm.plugins.studies.views import page_bytes as page_bytes
    from pxp_fsm.plugins.studies.views import participant_page as participant_page
    from pxp_fsm.plugins.studies.views import view as view

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.studies.conduct": "Conduct",
        "pxp_fsm.plugins.studies.export": "export_study",
        "pxp_fsm.plugins.studies.files": "Study load_study",
        "pxp_fsm.plugins.studies.lifecycles": "prove",
        "pxp_fsm.plugins.studies.pages.participants": "study_site",
        "pxp_fsm.plugins.studies.views": "page_bytes participant_page view",
    },
)
