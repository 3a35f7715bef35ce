"""Stop at the first loss or gradient that is not finite, and keep what led to it.

The batch is saved as safetensors, its episodes as JSONL and what was found as JSON, so that it can be looked at on
another machine, without trusting a pickle.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from agentkit.trajectory import Trajectory, save_trajectories, write_atomically

LISTED = 20
"""Parameters that a report names."""


class NonFiniteError(FloatingPointError):
    """A loss or a gradient is NaN or infinite."""


class FiniteWatch:
    """Remembers the batches since the last optimizer step, and saves them when something is not finite.

    Args:
        folder: a folder ``nonfinite-step-N-rank-R`` is made here.
        rank: of this process.
    """

    def __init__(self, folder: str | Path, rank: int = 0):
        self._folder, self._rank = Path(folder), rank
        self._batches: list[Mapping[str, Any]] = []
        self._trajectories: Sequence[Trajectory] = ()

    def note_rollouts(self, trajectories: Sequence[Trajectory]) -> None:
        """Remember the episodes that the next batches are made of."""
        self._trajectories = trajectories

    def check_loss(self, loss: torch.Tensor, batch: Mapping[str, Any], step: int) -> None:
        """Called after each forward-backward.

        Raises:
            NonFiniteError: the loss is not finite; the batch was saved.
        """
        self._batches.append(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            self._stop(f"the loss is {value}", step, {"loss": str(value)})

    def check_gradients(self, norm: Any, model: torch.nn.Module, step: int) -> None:
        """Called before each optimizer step, with the norm of all gradients.

        Raises:
            NonFiniteError: the norm is not finite; the batches since the last optimizer step were saved.
        """
        value = math.nan if norm is None else float(norm)
        if norm is not None and not math.isfinite(value):
            named = [(n, p) for n, p in model.named_parameters() if p.grad is not None]
            found = {
                "gradient_norm": str(value),
                "parameters_with_such_gradients": _not_finite({n: p.grad for n, p in named}),
                "parameters_with_such_values": _not_finite(dict(named)),
            }
            self._stop(f"the norm of the gradients is {value}", step, found)
        self._batches.clear()

    def _stop(self, what: str, step: int, found: Mapping[str, Any]) -> None:
        folder = self._folder / f"nonfinite-step-{step}-rank-{self._rank}"
        folder.mkdir(parents=True, exist_ok=True)
        rest = [_save_tensors(batch, folder / f"batch-{i}.safetensors") for i, batch in enumerate(self._batches)]
        save_trajectories(folder / "rollouts.jsonl", self._trajectories)
        report = {"step": step, "what": what, **found, "other_values": rest}
        write_atomically(folder / "report.json", json.dumps(report, indent=2) + "\n")
        raise NonFiniteError(
            f"{what} in step {step}; the batch, its episodes and a report are in {folder}. The last checkpoint is "
            "from before it: go on from there with a lower learning_rate or max_grad_norm, or with bf16=False"
        )


def _not_finite(tensors: Mapping[str, Any]) -> list[str]:
    """The names of the first tensors with a value that is not finite."""
    bad = (name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all()))
    return [name for name, _ in zip(bad, range(LISTED), strict=False)]


def _save_tensors(batch: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Write the tensors of a batch; the answer is its other values, in words."""
    from safetensors.torch import save_file

    tensors = {k: v.detach().cpu().contiguous().clone() for k, v in batch.items() if isinstance(v, torch.Tensor)}
    save_file(tensors, path)
    return {name: repr(value) for name, value in batch.items() if not isinstance(value, torch.Tensor)}
