"""pxp-fsm: state machines for protocols between agents that predict and explain."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pxp-fsm")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
