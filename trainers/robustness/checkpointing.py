"""`ResumableTrainer`: a killed run goes on as if it had not been (see `resume`), and NaN stops it."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

from agentkit.trainers.batching.micro_batches import MicroBatch
from agentkit.trainers.batching.token_budget import TokenBudgetTrainer
from agentkit.trainers.robustness.resume import (
    SaveBetweenRollouts,
    checkpoint_step,
    drop_rollouts_from,
    last_complete_checkpoint,
    load_state,
    save_state,
    set_aside,
)
from agentkit.trainers.robustness.watch import FiniteWatch


class ResumableTrainer(TokenBudgetTrainer):
    """`TokenBudgetTrainer` whose checkpoints hold the state of environments, judges and credit terms.

    The first loss or gradient that is not finite stops the run, with its batch saved (see
    `agentkit.trainers.robustness.watch`).
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        folder = self.args.output_dir or "."
        self.rollouts_path = Path(folder) / "rollouts.jsonl"
        self.watch = FiniteWatch(folder, self.accelerator.process_index)
        rounds: Any = self.args.steps_per_generation
        lasts = Fraction(rounds * self.num_iterations, self.args.gradient_accumulation_steps)
        self.add_callback(SaveBetweenRollouts(lasts.numerator))

    def parts_with_state(self) -> Mapping[str, Any]:
        """What a checkpoint keeps the state of; everything in it has ``state_dict`` and ``load_state_dict``."""
        return {}

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """Train, as `transformers.Trainer.train` does.

        Args:
            resume_from_checkpoint: a checkpoint's folder, or True for the last one in ``output_dir`` that was written
                to its end (training begins anew where there is none). Episodes that will be played again are taken out
                of ``rollouts.jsonl``; a run that begins anew keeps an earlier one's under another name.
            args: passed on.
            kwargs: passed on.
        """
        found = resume_from_checkpoint
        if found is True:
            found = last_complete_checkpoint(self.args.output_dir or ".")
        with self.accelerator.main_process_first():
            if self.accelerator.is_main_process and not found:
                set_aside(self.rollouts_path)
            elif self.accelerator.is_main_process:
                drop_rollouts_from(self.rollouts_path, checkpoint_step(str(found)))
        if found:
            load_state(Path(str(found)), self.parts_with_state(), self.accelerator.process_index)
        return super().train(str(found) if found else None, *args, **kwargs)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Before the rest of it: what transformers writes last marks a checkpoint as complete.
        folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
        save_state(folder, self.parts_with_state(), self.accelerator.process_index)
        super()._save_checkpoint(model, trial)

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        loss = super()._compute_loss(model, inputs)
        if isinstance(inputs, MicroBatch):
            self.watch.check_loss(loss, inputs, self.state.global_step)
        return loss

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        if not self.args.fp16:  # whose scaler skips such steps by itself
            self.watch.check_gradients(norm, model, self.state.global_step)
        return norm
