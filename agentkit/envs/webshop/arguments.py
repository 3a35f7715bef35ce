"""Checks of the environment's arguments; each message names the argument, its value and what is allowed."""

from collections.abc import Iterable
from typing import Any


def check_choice(name: str, value: Any, known: Iterable[Any]) -> None:
    """Raise ValueError unless ``value`` is one of the ``known`` ones."""
    choices = list(known)
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}")


def check_count(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless ``value`` is None or a whole number of at least ``least``."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def goal_index_of(task_id: Any) -> int:
    """The goal index in a task id.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(task_id, str) or not task_id.isdecimal():
        raise ValueError(f"options['task_id'] must be a goal index such as '3705', got {task_id!r}")
    return int(task_id)
