"""`TokenBudgetTrainer`: TRL's GRPO on micro-batches that a token budget cuts, with the gradients of the whole batch."""

import time
from collections.abc import Mapping
from typing import Any

import torch
from transformers import Trainer
from trl import GRPOTrainer

from agentkit.trainers.batching.micro_batches import (
    Batch,
    MicroBatch,
    Weights,
    cut,
    loss_mask,
    merged,
    padding_share,
    select,
    weights,
)
from agentkit.trainers.config import AgentGRPOConfig
from agentkit.trainers.robustness.stopwatch import TRAINING, StartClock, Stopwatch
from agentkit.trainers.trl_hooks import check_trl

check_trl()


class TokenBudgetTrainer(GRPOTrainer):
    """`trl.GRPOTrainer`, whose batches (``rows_that_teach`` in them) are cut by ``args.max_tokens_per_micro_batch``.

    Logs ``micro_batches/count`` and ``micro_batches/padding`` (the share of computed positions that are padding), and
    seconds of each optimizer step by part as ``time/...``.
    """

    args: AgentGRPOConfig

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.clock = Stopwatch()
        self.add_callback(StartClock(self.clock))

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any) -> torch.Tensor:
        """TRL's step, on micro-batches; what each adds to the gradients is its share of the whole batch's loss."""
        model.train()
        batch = self._prepare_inputs(inputs)
        with self.clock.timing(TRAINING):
            parts = self._parts(batch)
            logged = {name: len(values) for name, values in self._metrics["train"].items()}
            losses = self._train_parts(model, parts, num_items_in_batch)
            self._merge_metrics(parts, logged)
        if self._step % self.current_gradient_accumulation_steps == 0:
            self._note_seconds(self.clock.lap())
        return torch.stack(losses).sum()

    def _note_seconds(self, seconds: Mapping[str, float]) -> None:
        """Log where the seconds of an optimizer step went."""
        for part, value in seconds.items():
            self._metrics["train"][f"time/{part}"].append(value)

    def _lengths(self, batch: Batch) -> list[int]:
        """Positions that each row takes in a forward pass."""
        return (batch["prompt_mask"].sum(1) + batch["completion_mask"].sum(1)).tolist()

    def _parts(self, batch: Batch) -> list[MicroBatch]:
        """The batch in parts, equally many and of equally many rows on every process: TRL's metrics gather them."""
        lengths = self._lengths(batch)
        chosen = cut(lengths, self.args.max_tokens_per_micro_batch)
        chosen += [[] for _ in range(self._largest(len(chosen)) - len(chosen))]
        sizes = torch.tensor([[len(rows) for rows in chosen]], device=self.accelerator.device)
        most: Any = self.accelerator.gather(sizes)
        parts = [select(batch, rows, count) for rows, count in zip(chosen, most.amax(0).tolist(), strict=True)]
        for part in parts:
            part["weights"] = weights(part, batch, self.loss_type)
        self._metrics["train"]["micro_batches/count"].append(float(len(parts)))
        self._metrics["train"]["micro_batches/padding"].append(padding_share(lengths, chosen))
        return parts

    def _merge_metrics(self, parts: list[MicroBatch], logged: Mapping[str, int]) -> None:
        """Turn what TRL logged for each part into what it would have logged for the whole batch."""
        tokens = torch.stack([loss_mask(part).sum() for part in parts])
        counts: Any = self.accelerator.reduce(tokens, reduction="sum")
        shares = counts.tolist()
        for name, values in self._metrics["train"].items():
            own = values[logged.get(name, 0) :]
            if len(own) == len(parts):
                policy = [part["weights"].policy for part in parts]
                whole = sum(w * v for w, v in zip(policy, own, strict=True)) if name == "policy_loss" else None
                values[len(values) - len(own) :] = [merged(name, own, shares) if whole is None else whole]
        if "entropy_coef" in self._metrics["train"]:
            self._metrics["train"]["entropy_coef"][-1] = self.entropy_coef  # not the one that was scaled for a part

    def _largest(self, count: int) -> int:
        """The largest of all processes' counts."""
        counts: Any = self.accelerator.gather(torch.tensor([count], device=self.accelerator.device))
        return int(counts.max())

    def _train_parts(self, model: Any, parts: list[MicroBatch], num_items_in_batch: Any) -> list[torch.Tensor]:
        """Forward and backward for each part; gradients are exchanged with other processes at the last one."""
        start, losses = time.perf_counter(), []
        state = self.accelerator.gradient_state
        syncs = state.sync_gradients
        for part in parts[:-1]:
            state._set_sync_gradients(False)  # or DeepSpeed would make an optimizer step here
            with self.accelerator.no_sync(model):
                losses.append(Trainer.training_step(self, model, part, num_items_in_batch))
        state._set_sync_gradients(syncs)
        self._current_train_step_time += time.perf_counter() - start
        losses.append(super().training_step(model, parts[-1], num_items_in_batch))  # TRL counts the step
        return losses

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        prepared = isinstance(generation_batch, MicroBatch)
        return generation_batch if prepared else super()._prepare_inputs(generation_batch)

    def _compute_loss(self, model: Any, inputs: Batch) -> torch.Tensor:
        share: Weights | None = inputs.get("weights")
        if share is None or self.use_adaptive_entropy:
            return super()._compute_loss(model, inputs) * (1.0 if share is None else share.policy)
        coefficient = self.entropy_coef
        # The whole loss is weighted as the policy's part of it is, but the bonus is a mean over other things.
        self.entropy_coef = coefficient * share.entropy / share.policy if share.policy else 0.0
        try:
            return super()._compute_loss(model, inputs) * share.policy
        finally:
            self.entropy_coef = coefficient
