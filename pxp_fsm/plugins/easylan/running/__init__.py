"""Running a network: requests to models, modules, one run."""
