"""The info of one copy, in and out of the infos of a vector environment."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np


def info_of(infos: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The info of copy ``index``: what its own ``step`` or ``reset`` gave, without the keys of other copies.

    Gymnasium keeps a mask ``_key`` beside every ``key``, and numbers in arrays, from which they come back as Python's.
    """
    info = {}
    for key, column in infos.items():
        if not infos.get(f"_{key}", np.zeros(index + 1, bool))[index]:
            continue
        value = info_of(column, index) if isinstance(column, Mapping) else column[index]
        info[key] = value.item() if isinstance(value, np.generic) else value
    return info


def put(vector: gym.vector.VectorEnv, infos: dict[str, Any], info: Mapping[str, Any], index: int) -> dict[str, Any]:
    """``infos`` with the keys of ``info`` added for copy ``index``; mappings in it are merged with those there.

    The form is Gymnasium's own, so that what a vector wrapper adds looks as if each copy had said it.
    """
    return vector._add_info(infos, dict(info), index)  # the hook that vector environments override
