"""What accompanies training: a live line, a file of figures, and a stop that loses nothing."""

import json
import math
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from tqdm import tqdm
from transformers import TrainerCallback

from agentkit.appending import append_line
from agentkit.recipes.folder import RunFolder
from agentkit.trainers.robustness.resume import SaveBetweenRollouts

SHOWN: Mapping[str, tuple[str, ...]] = {
    "loss": ("loss",),
    "success": ("episodes/success",),
    "reward": ("reward",),
    "unscored": ("credit/unscored",),
    "accuracy": ("eval_accuracy", "mean_token_accuracy"),
    "nll": ("eval_nll",),
}
"""Words of the live line, and the logged figures that they may stand for."""


class ProgressLine(TrainerCallback):
    """One line on stderr: steps, the latest figures, the rate and the time that is left."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._latest: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Open the line, at the step that a resumed run goes on from."""
        if state.is_world_process_zero:
            self._bar = tqdm(
                total=state.max_steps, initial=state.global_step, unit="step", file=sys.stderr, dynamic_ncols=True
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Move on."""
        if self._bar is not None:
            self._bar.update(state.global_step - self._bar.n)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Show the figures."""
        if self._bar is not None:
            self._latest.update(shown_figures(logs or {}))
            self._bar.set_postfix_str(" ".join(f"{name} {value:.3g}" for name, value in self._latest.items()))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the line."""
        if self._bar is not None:
            self._bar.close()


class MetricsFile(TrainerCallback):
    """Appends every logged figure, with its step, to the run's file of figures."""

    def __init__(self, folder: RunFolder):
        self._folder = folder

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Drop what a resumed run will log again."""
        if state.is_world_process_zero:
            self._folder.forget_after(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Write a line; figures that are no finite numbers are null."""
        if state.is_world_process_zero and logs:
            values = {name: _json_number(value) for name, value in logs.items() if isinstance(value, (int, float))}
            append_line(self._folder.metrics, json.dumps({"step": state.global_step, **values}) + "\n")


class GracefulStop(TrainerCallback):
    """Ends training after the current step, with a checkpoint, when it is asked to stop.

    All processes stop at the same step, whichever of them was asked. Where one batch of rollouts is trained on for
    several steps, the last of them counts: a checkpoint does not hold the rollouts.
    """

    def __init__(self) -> None:
        self.asked = False
        self.stopped = False
        self._every = 1

    def go_with(self, trainer: Any) -> None:
        """Stop only where the trainer may save."""
        waits = [cb.steps for cb in trainer.callback_handler.callbacks if isinstance(cb, SaveBetweenRollouts)]
        self._every = max(waits, default=1)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop here, if asked."""
        between = state.global_step % self._every == 0 and state.global_step < state.max_steps
        if _anywhere(self.asked, args.device) and between:
            control.should_training_stop = control.should_save = self.stopped = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C (and SIGTERM, as schedulers send) for the wish to stop; the second Ctrl-C stops at once."""

        def ask(number: int, frame: Any) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True
            print("\nstopping after this step; Ctrl-C again stops at once and loses it", file=sys.stderr)

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def shown_figures(logs: Mapping[str, Any]) -> dict[str, float]:
    """The figures of the live line, by their words."""
    found = {word: next((logs[name] for name in names if name in logs), None) for word, names in SHOWN.items()}
    return {word: float(value) for word, value in found.items() if isinstance(value, (int, float))}


def _json_number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _anywhere(flag: bool, device: Any) -> bool:
    """Whether the flag is set in any process."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return flag
    tensor = torch.tensor(int(flag), device=device)
    torch.distributed.all_reduce(tensor, op=torch.distributed.ReduceOp.MAX)
    return bool(tensor.item())
