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

__getattr__, __dir__ = door(globals())
