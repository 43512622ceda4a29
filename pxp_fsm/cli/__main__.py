"""Where the `pxp` command begins; `python -m pxp_fsm.cli` is that command, too."""

from __future__ import annotations

from pxp_fsm.cli import interrupts

TYPE_CHECKING = False  # `typing` takes longer to load than all else before Ctrl-C is handled
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(arguments: Sequence[str] | None = None, prog_name: str | None = None) -> NoReturn:
    """Run the command and exit with its code; no failure is shown as a traceback."""
    interrupts.stop_at_once()
    from pxp_fsm.cli.main import main as run

    try:
        run(arguments, prog_name)
    except SystemExit as end:
        interrupts.end_with(end.code if isinstance(end.code, int) else 0)
        raise
    except BaseException as error:
        if interrupts.was_interrupted(error):
            interrupts.stop()
        raise


if __name__ == "__main__":
    main(prog_name="pxp")
