"""What an agent did in one episode: `Step`, `Trajectory`, and their JSONL files."""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs
import numpy as np

from agentkit.appending import append_line
from agentkit.decisions import Verdict
from agentkit.structuring import faults


def _exactly(value: Any, kind: type) -> Any:
    """cattrs alone would turn 3 into "3", "false" into True and "look" into ("l", "o", "o", "k")."""
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return kind(value)


def _texts(value: Any, kind: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"expected a list of strings, got {value!r}")
    return tuple(_exactly(item, str) for item in value)


_converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=True)
for _kind in (str, int, float, bool):
    _converter.register_structure_hook(_kind, _exactly)
_converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)


def _finite(instance: Any, attribute: "attrs.Attribute[Any]", value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{attribute.name} must be a finite number, got {value!r}")


def _is_text(instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{attribute.name} must be a str, got {type(value).__name__}: {value!r}")


@attrs.frozen(kw_only=True)
class Step:
    """One action of an agent, what it saw when it chose it, and every signal about it, each in its own field."""

    observation: str = attrs.field(validator=_is_text)
    """What the agent saw when it chose ``action``."""
    action: str = attrs.field(validator=_is_text)
    """The action that the environment executed."""
    reward: float = attrs.field(converter=float, validator=_finite)
    """The reward that the outermost environment returned for the action."""
    feedback: str = attrs.field(default="", validator=_is_text)
    """The observation that the action led to."""
    admissible_actions: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Every action that was valid when the agent chose; empty when the environment is open-ended."""
    raw_reward: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    """The innermost environment's own reward, before any wrapper."""
    shaped_reward: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    """The raw reward plus what judges and roles add to it."""
    scores: dict[str, Verdict] = attrs.field(factory=dict, converter=dict)
    """Judge name -> its verdict on this step."""
    role: str | None = None
    """The step's semantic role (decisive, exploration, no-progress, regression); None when not typed."""
    advantage: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    """The advantage that a trainer gave to the tokens of this action."""
    state_changed: bool | None = None
    """False exactly when the action changed nothing (a no-op); None when the environment does not say."""
    milestones: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    """Ground-truth sub-goals that the action achieved."""
    probability: float | None = attrs.field(default=None, validator=attrs.validators.optional(_finite))
    """The actor's probability of the action among the admissible ones."""
    gate: dict[str, Any] | None = None
    """What a comparator gate did before the action was executed."""
    info: dict[str, Any] = attrs.field(factory=dict, converter=dict)
    """Any further JSON values worth keeping."""


@attrs.frozen(kw_only=True)
class Trajectory:
    """One episode. ``len(trajectory)`` is T, the number of executed actions."""

    goal: str = attrs.field(validator=_is_text)
    """The instruction."""
    steps: tuple[Step, ...] = attrs.field(converter=tuple)
    """T steps, in order."""
    final_observation: str = attrs.field(default="", validator=_is_text)
    """What the last action led to."""
    terminated: bool = False
    """The environment ended the episode."""
    truncated: bool = False
    """A limit cut the episode."""
    won: bool = False
    """The environment's own verdict."""
    task_id: str = ""
    task_type: str = ""
    seed: int | None = None
    group: str | None = None
    """Episodes of one rollout group (same task, same start) share this name."""
    info: dict[str, Any] = attrs.field(factory=dict, converter=dict)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def total_reward(self) -> float:
        """Sum of the raw rewards (of ``reward`` where no raw reward was recorded)."""
        return sum(step.reward if step.raw_reward is None else step.raw_reward for step in self.steps)

    def score_array(self, judge: str) -> np.ndarray:
        """Scores of ``judge``, float64 of shape (T,); NaN where a step is unscored or was never judged."""
        verdicts = (step.scores.get(judge) for step in self.steps)
        return np.array([math.nan if v is None or v.score is None else v.score for v in verdicts], dtype=np.float64)

    def with_steps(self, **columns: Iterable[Any]) -> "Trajectory":
        """A copy with one field of every step replaced, e.g. ``t.with_steps(role=roles)``.

        Raises:
            ValueError: a column does not have one value for each of the T steps.
        """
        steps = self.steps
        for name, column in columns.items():
            values = list(column)
            if len(values) != len(steps):
                raise ValueError(f"{name} has {len(values)} values for {len(steps)} steps; give one a step")
            steps = tuple(attrs.evolve(step, **{name: value}) for step, value in zip(steps, values, strict=True))
        return attrs.evolve(self, steps=steps)

    def with_scores(self, judge: str, verdicts: Iterable[Verdict]) -> "Trajectory":
        """A copy in which ``judge``'s verdicts are added to every step (T verdicts)."""
        verdicts = list(verdicts)
        if len(verdicts) != len(self.steps):
            raise ValueError(f"{judge} gave {len(verdicts)} verdicts for {len(self.steps)} steps; give one a step")
        return self.with_steps(scores=[{**s.scores, judge: v} for s, v in zip(self.steps, verdicts, strict=True)])


def trajectory_to_dict(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory as JSON values; fields at their default are left out."""
    return _converter.unstructure(trajectory)


def trajectory_from_dict(data: Mapping[str, Any]) -> Trajectory:
    """The inverse of `trajectory_to_dict`.

    Raises:
        ValueError: a field is missing, unknown, or of the wrong type; the message names it.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a trajectory is a JSON object, got {data!r}")
    try:
        return _converter.structure(data, Trajectory)
    except Exception as error:
        raise ValueError(faults(error)) from error


def _line(trajectory: Trajectory) -> str:
    return json.dumps(trajectory_to_dict(trajectory), ensure_ascii=False, allow_nan=False) + "\n"


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` to ``path`` so that a reader sees either the old file or the whole new one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)  # mkstemp makes files that only the owner can read
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def save_trajectories(path: str | os.PathLike[str], trajectories: Iterable[Trajectory]) -> Path:
    """Write trajectories as JSONL (one a line, UTF-8), atomically, and return the path."""
    return write_atomically(path, "".join(map(_line, trajectories)))


def append_trajectory(path: str | os.PathLike[str], trajectory: Trajectory) -> None:
    """Append one whole line to a JSONL file, which several processes may do at once; see `append_line`."""
    append_line(path, _line(trajectory))


def iterate_trajectories(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Read a JSONL file one trajectory at a time.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is not JSON, or not a trajectory; the message names the file, the line and the field.
    """
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                data = json.loads(line)
            except json.JSONDecodeError as error:
                mend = " (the line is cut off: delete it)" if not line.endswith("\n") else ""
                raise ValueError(f"{path}, line {number}: not JSON: {error}{mend}") from error
            try:
                yield trajectory_from_dict(data)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error


def load_trajectories(path: str | os.PathLike[str]) -> list[Trajectory]:
    """Read a whole JSONL file; the errors are those of `iterate_trajectories`."""
    return list(iterate_trajectories(path))
