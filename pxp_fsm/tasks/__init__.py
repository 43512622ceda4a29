"""Tasks: what a session is about. A new task is a new folder."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.prompting.prompts import Problem as Problem
    from pxp_fsm.tasks.own_data import RowForm as RowForm
    from pxp_fsm.tasks.own_data import read_data as read_data
    from pxp_fsm.tasks.prompts import bundled_prompts as bundled_prompts
    from pxp_fsm.tasks.prompts import prompts_of as prompts_of
    from pxp_fsm.tasks.task import DataRow as DataRow
    from pxp_fsm.tasks.task import DataSet as DataSet
    from pxp_fsm.tasks.task import Task as Task
    from pxp_fsm.tasks.task import find_task as find_task
    from pxp_fsm.tasks.task import task_names as task_names

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.prompting.prompts": "Problem",
        "pxp_fsm.tasks.own_data": "RowForm read_data",
        "pxp_fsm.tasks.prompts": "bundled_prompts prompts_of",
        "pxp_fsm.tasks.task": "DataRow DataSet Task find_task task_names",
    },
)
