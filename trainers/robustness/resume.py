"""What a killed run needs to go on as if nothing had happened, beyond what `transformers.Trainer` keeps.

* `last_complete_checkpoint` passes over a checkpoint that was being written when the process died.
* `save_state` and `load_state` keep the state of everything that has ``state_dict()`` and ``load_state_dict(state)``
  (the environment factory, environments and their wrappers, judges, credit terms) as JSON in the checkpoint.
* `drop_rollouts_from` takes the episodes of the steps that are played again out of ``rollouts.jsonl``.
* `SaveBetweenRollouts` moves a checkpoint to the next point at which no rollouts wait to be trained on: TRL keeps those
  in memory only.
"""

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
from transformers import TrainerCallback

from agentkit.trainers.robustness.outage import layers
from agentkit.trajectory import write_atomically

logger = logging.getLogger(__name__)

STATE_FILE = "agentkit_state-{rank}.json"
TRAINER_STATE = "trainer_state.json"
"""What `transformers.Trainer` writes last into a checkpoint."""

_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_GROUP = re.compile(rb'"group": "(eval-)?step-(\d+)-')


def last_complete_checkpoint(folder: str | os.PathLike[str]) -> Path | None:
    """The checkpoint of the highest step that was written to its end; None if there is none."""
    numbered = [(int(m[1]), path) for path in Path(folder).glob("*") if (m := _CHECKPOINT.fullmatch(path.name))]
    for _, path in sorted(numbered, reverse=True):
        if _is_complete(path):
            return path
        logger.warning("%s is passed over: it was not written to its end", path)
    return None


def _is_complete(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / TRAINER_STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def checkpoint_step(checkpoint: str | os.PathLike[str]) -> int:
    """The optimizer steps that were done when a checkpoint was written.

    Raises:
        ValueError: the folder is no complete checkpoint.
    """
    path = Path(checkpoint)
    if not _is_complete(path):
        raise ValueError(f"resume_from_checkpoint={str(path)!r} is no complete checkpoint: {TRAINER_STATE} is missing")
    return int(json.loads((path / TRAINER_STATE).read_text("utf-8"))["global_step"])


def stateful_parts(named: Mapping[str, Any], envs: Iterable[gym.Env] = ()) -> dict[str, Any]:
    """Those of the named objects, of the layers of the environments and of their judges that have a state to keep.

    A judge that several environments share is kept once.
    """
    candidates = dict(named)
    for i, env in enumerate(envs):
        for depth, layer in enumerate(layers(env)):
            candidates[f"env-{i}/layer-{depth}"] = layer
            for role in ("judge", "comparator"):
                candidates[f"env-{i}/layer-{depth}/{role}"] = getattr(layer, role, None)
    parts: dict[str, Any] = {}
    for name, part in candidates.items():
        if _has_state(part) and not any(part is known for known in parts.values()):
            parts[name] = part
    return parts


def _has_state(part: Any) -> bool:
    # A network's state is tensors, which checkpoints of the model are for.
    is_network = hasattr(part, "named_parameters")
    return not is_network and callable(getattr(part, "state_dict", None)) and hasattr(part, "load_state_dict")


def save_state(checkpoint: Path, parts: Mapping[str, Any], rank: int = 0) -> Path:
    """Write the state of all parts into a checkpoint's folder.

    Raises:
        TypeError: a state is not made of JSON values; the message names the part.
    """
    states = {}
    for name, part in parts.items():
        states[name] = part.state_dict()
        try:
            json.dumps(states[name], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"state_dict() of {name} ({type(part).__name__}) is not made of JSON values ({error}); return numbers, "
                "texts, lists and dicts with text keys"
            ) from error
    return write_atomically(checkpoint / STATE_FILE.format(rank=rank), json.dumps(states) + "\n")


def load_state(checkpoint: Path, parts: Mapping[str, Any], rank: int = 0) -> None:
    """Give all parts the state that `save_state` wrote.

    A part without a saved state, or a state without its part, means that the run is not the one that was interrupted:
    both are logged.

    Raises:
        ValueError: the file is damaged.
    """
    states = _read_states(checkpoint, rank)
    for name in sorted(states.keys() ^ parts.keys()):
        fate = "has no saved state and begins anew" if name in parts else "had a state, but is not there any more"
        logger.warning("resuming from %s: %s %s", checkpoint, name, fate)
    for name in sorted(states.keys() & parts.keys()):
        parts[name].load_state_dict(states[name])


def _read_states(checkpoint: Path, rank: int) -> dict[str, Any]:
    path = checkpoint / STATE_FILE.format(rank=rank)
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); resume from an earlier checkpoint") from error


def drop_rollouts_from(path: str | os.PathLike[str], step: int) -> int:
    """Take the episodes that were played in optimizer step ``step`` (from 0) or later out of a rollouts file.

    They will be played again. A last line that was cut off goes too. Episodes of evaluations are played at the end of a
    step, before its checkpoint: those of the evaluation after ``step`` steps stay.

    Returns:
        The number of lines that were taken out.
    """
    source = Path(path)
    if not source.exists():
        return 0
    dropped = 0
    partial = source.with_name(f".{source.name}.part")
    with open(source, "rb") as lines, open(partial, "wb") as kept:
        for line in lines:
            keep = line.endswith(b"\n") and _played_before(line, step)
            dropped += not keep
            if keep:
                kept.write(line)
    os.replace(partial, source)
    return dropped


def _played_before(line: bytes, step: int) -> bool:
    group = _GROUP.search(line)
    return group is None or int(group[2]) < step + (group[1] is not None)


def set_aside(path: str | os.PathLike[str]) -> Path | None:
    """Rename the rollouts of an earlier run, when one begins anew in its folder; None if there are none."""
    source = Path(path)
    if not source.exists() or not source.stat().st_size:
        return None
    number = 1
    while (target := source.with_name(f"{source.stem}-earlier-{number}{source.suffix}")).exists():
        number += 1
    logger.warning("%s is of an earlier run; it is kept as %s", source, target.name)
    return source.rename(target)


class SaveBetweenRollouts(TrainerCallback):
    """Puts a checkpoint off while rollouts wait to be trained on.

    Args:
        steps: optimizer steps that one batch of rollouts is trained on for (``steps_per_generation * num_iterations /
            gradient_accumulation_steps``); where this is no whole number, its least whole multiple.
    """

    def __init__(self, steps: int):
        if steps < 1:
            raise ValueError(f"steps must be at least 1, got {steps!r}")
        self.steps = steps
        self._due = False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Let a checkpoint through at the end of a batch of rollouts, and of the training."""
        self._due = self._due or control.should_save
        last = state.global_step >= state.max_steps or control.should_training_stop
        control.should_save = self._due and (state.global_step % self.steps == 0 or last)
        self._due = self._due and not control.should_save
        return control
