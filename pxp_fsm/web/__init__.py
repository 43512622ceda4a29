"""Pages for a browser: a local server, and single files that need none."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.web.assistants.server import assistant_site as assistant_site
    from pxp_fsm.web.editing import Editor as Editor
    from pxp_fsm.web.experts.pages import expert_site as expert_site
    from pxp_fsm.web.explorer import explorer_site as explorer_site
    from pxp_fsm.web.files import explorer_file as explorer_file
    from pxp_fsm.web.pages import PageSet as PageSet
    from pxp_fsm.web.recordings import Recording as Recording
    from pxp_fsm.web.serving import OpenSite as OpenSite
    from pxp_fsm.web.serving import serve as serve
    from pxp_fsm.web.subjects import SystemSubject as SystemSubject
    from pxp_fsm.web.subjects import subject_in as subject_in

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.web.assistants.server": "assistant_site",
        "pxp_fsm.web.editing": "Editor",
        "pxp_fsm.web.experts.pages": "expert_site",
        "pxp_fsm.web.explorer": "explorer_site",
        "pxp_fsm.web.files": "explorer_file",
        "pxp_fsm.web.pages": "PageSet",
        "pxp_fsm.web.recordings": "Recording",
        "pxp_fsm.web.serving": "OpenSite serve",
        "pxp_fsm.web.subjects": "SystemSubject subject_in",
    },
)
