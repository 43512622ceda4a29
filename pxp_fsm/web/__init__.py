"""Pages for a browser: a local server, and single files that need none."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.web.assistants.server import serve_assistants as serve_assistants
    from pxp_fsm.web.editing import Editor as Editor
    from pxp_fsm.web.experts.server import serve_experts as serve_experts
    from pxp_fsm.web.files import explorer_file as explorer_file
    from pxp_fsm.web.recordings import Recording as Recording
    from pxp_fsm.web.server import serve as serve
    from pxp_fsm.web.subjects import SystemSubject as SystemSubject
    from pxp_fsm.web.subjects import subject_in as subject_in

__getattr__, __dir__ = door(globals())
