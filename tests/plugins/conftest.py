"""What tests of plug-ins need of the core's: a browser, and databases."""

from tests.backends.conftest import database, dialect, empty, model_keys
from tests.experiments.conftest import pxp, table
from tests.web.conftest import browser, packages, quick

__all__ = [
    "browser",
    "database",
    "dialect",
    "empty",
    "model_keys",
    "packages",
    "pxp",
    "quick",
    "table",
]
