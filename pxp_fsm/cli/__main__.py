"""Where the `pxp` command begins; `python -m pxp_fsm.cli` is that command, too."""

import os
import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn


def main(arguments: Sequence[str] | None = None, prog_name: str | None = None) -> NoReturn:
    """Run the command and exit with its code; no failure is shown as a traceback.

    Nothing can be lost while the command loads, so Ctrl-C ends the process there and then: an
    exception could be turned into another one by whatever is being imported.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    loading = in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if loading:
        signal.signal(signal.SIGINT, _stop)
    from pxp_fsm.cli.main import main as run

    try:
        if loading:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run(arguments, prog_name)
    except KeyboardInterrupt:
        _stop()


def _stop(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    os.write(2, b"Stopped.\n")
    os._exit(130)


if __name__ == "__main__":
    main(prog_name="pxp")
