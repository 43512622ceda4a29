"""Tasks: what a session is about. A new task is a new folder."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.prompting.problem import Problem as Problem
    from pxp_fsm.tasks.own_data import Form as Form
    from pxp_fsm.tasks.own_data import read_data as read_data
    from pxp_fsm.tasks.prompts import bundled_prompts as bundled_prompts
    from pxp_fsm.tasks.prompts import prompts_of as prompts_of
    from pxp_fsm.tasks.registry import find_task as find_task
    from pxp_fsm.tasks.registry import task_names as task_names
    from pxp_fsm.tasks.task import DataSet as DataSet
    from pxp_fsm.tasks.task import Row as Row
    from pxp_fsm.tasks.task import Task as Task

_MODULES = {
    "DataSet": "pxp_fsm.tasks.task",
    "Form": "pxp_fsm.tasks.own_data",
    "Problem": "pxp_fsm.prompting.problem",
    "Row": "pxp_fsm.tasks.task",
    "Task": "pxp_fsm.tasks.task",
    "bundled_prompts": "pxp_fsm.tasks.prompts",
    "find_task": "pxp_fsm.tasks.registry",
    "prompts_of": "pxp_fsm.tasks.prompts",
    "read_data": "pxp_fsm.tasks.own_data",
    "task_names": "pxp_fsm.tasks.registry",
}

__all__ = list(_MODULES)
__getattr__, __dir__ = door(__name__, _MODULES)
