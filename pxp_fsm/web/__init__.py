"""Pages for a browser: a local server, and single files that need none."""

from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.server import serve

__all__ = ["explorer_file", "serve"]
