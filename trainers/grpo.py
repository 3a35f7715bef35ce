"""`AgentGRPOTrainer`: TRL's GRPO, for episodes in environments, with step rewards as token advantages.

What is changed of `trl.GRPOTrainer`, and why:

* **Generation** (`_generate_and_score_completions`, ``rollout_func``): whole episodes are played in Gymnasium
  environments, many at once, before TRL takes over; TRL then trains on exactly the token ids that were sampled, and
  tokens of observations are masked (its ``env_mask``). Windowed prompts make one row a turn, so that processes can
  differ in their number of rows: masked rows fill them up, and take part in no mean.
* **Advantages**: TRL's, one a completion, are replaced by one a token: the outcome advantage of the episode plus the
  credit terms of the step that the token belongs to, from the whole batch of all processes. TRL's loss takes that
  shape as it is. With no terms, or all weights 0, it is that of plain outcome GRPO.
* **Log-probabilities** (`_get_per_token_logps_and_entropies`): those of constrained actions are of the distribution
  that was sampled, over the admissible actions (see `action_trie`), scored in one pass (see `action_layout`, and
  ``docs/adr/0002-exact-action-probabilities.md``). Generated text keeps TRL's own.
* **Micro-batches** (`training_step`, `_compute_loss`): a batch is cut by a token budget; weights make the parts' losses
  add up to the loss of the whole (see `token_budget` and `micro_batches`).
* **Rewards** (`_calculate_rewards`): each episode's return, once, so that TRL's reward statistics are over episodes.
* **Data**: rows of the dataset are tasks (a seed, and options, for ``env.reset``); the members of a group share a row,
  so they share the task and its start.

Everything else (losses, KL, clipping, iterations, PEFT, checkpoints, loggers, `accelerate launch`) is TRL's own. What
is overridden is checked at import (see `trl_hooks`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import torch
from accelerate.utils import gather, gather_object
from datasets import Dataset

from agentkit.credit import Floats
from agentkit.trainers.batching import micro_batches
from agentkit.trainers.batching.micro_batches import Batch
from agentkit.trainers.batching.rows import Row, batch_size, fill, rows_of, token_advantages
from agentkit.trainers.config import AgentGRPOConfig
from agentkit.trainers.credit.assignment import Credit, assign_credit, with_outcome
from agentkit.trainers.credit.terms import CreditTerm, Outcome, term_name
from agentkit.trainers.robustness.checkpointing import ResumableTrainer
from agentkit.trainers.robustness.stopwatch import WRAPPERS
from agentkit.trainers.rollouts.collecting import Collector
from agentkit.trainers.rollouts.token_episode import TokenEpisode, TokenSample
from agentkit.trainers.scoring.action_layout import layout_size
from agentkit.trainers.scoring.exact_scoring import score_samples
from agentkit.trainers.trl_hooks import check_trl
from agentkit.trajectory import Trajectory, append_trajectory

check_trl()


def tasks(count: int, first_seed: int = 0) -> Dataset:
    """A dataset of ``count`` tasks: the seeds that ``env.reset`` gets."""
    return Dataset.from_dict({"prompt": [""] * count, "seed": list(range(first_seed, first_seed + count))})


def episode_return(**_: Any) -> list[float]:
    """Names the reward in TRL's logs; `AgentGRPOTrainer._calculate_rewards` gives its values."""
    raise NotImplementedError("the returns of episodes do not come from their texts")


class AgentGRPOTrainer(ResumableTrainer):
    """GRPO on episodes of a text environment.

    Args:
        model: a causal LM or its name, as for `trl.GRPOTrainer`.
        env_factory: makes a text environment; called as often as episodes are played side by side.
        args: the configuration.
        wrappers: callables applied to each environment, innermost first, on top of a `TimeLimit` of ``args.max_turns``:
            judges and role judges see every episode end there.
        credit_terms: what is added to the outcome advantage (see `agentkit.trainers.credit.terms`); one that is named
            "outcome" takes its place.
        train_dataset: rows with a ``seed`` and, where wanted, ``options`` for ``env.reset``; None = 1,000 tasks with
            the seeds 0 to 999.
        processing_class: the tokenizer.
        on_rollouts: called with the trajectories of each generation batch, advantages written into their steps.
        kwargs: passed to `trl.GRPOTrainer` (``peft_config``, ``callbacks``, ``optimizers``, ...).

    The return of an episode is the sum of its raw rewards: what judges add is credited step by step, not twice.

    Raises:
        ValueError: two credit terms with one name; constrained actions with a mixture-of-experts loss.
    """

    args: AgentGRPOConfig

    def __init__(
        self,
        model: Any,
        env_factory: Callable[[], gym.Env],
        args: AgentGRPOConfig,
        *,
        wrappers: Sequence[Callable[[gym.Env], gym.Env]] = (),
        credit_terms: Sequence[CreditTerm] = (),
        train_dataset: Dataset | None = None,
        processing_class: Any = None,
        on_rollouts: Callable[[list[Trajectory]], Any] | None = None,
        **kwargs: Any,
    ):
        scale: Any = args.scale_rewards
        self.credit_terms = with_outcome(credit_terms, Outcome(scale, args.statistics))
        reward_funcs: list[Any] = [episode_return]
        played_rows: Any = _played_rows  # TRL's type wants its own trainer class as the second argument
        super().__init__(
            model=model,
            reward_funcs=reward_funcs,
            args=args,
            train_dataset=tasks(1000) if train_dataset is None else train_dataset,
            processing_class=processing_class,
            rollout_func=played_rows,
            **kwargs,
        )
        if self.aux_loss_enabled and args.action_style == "constrained":
            raise ValueError("router_aux_loss_coef needs action_style='generated': trees of actions have no such loss")
        self.on_rollouts = on_rollouts
        self.collector = Collector(self, env_factory, wrappers)
        self._rows: list[Row] = []
        self._scored: Sequence[TokenSample] = ()

    def play(self, seeds: Sequence[int], group_size: int) -> list[TokenEpisode]:
        """Play one episode for each seed with the current policy; ``group_size`` neighbours form a group."""
        return self.collector.play([{"seed": seed} for seed in seeds], group_size)

    # The batch

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Batch:
        episodes = self.collector.collect(inputs, self._group_size)
        self.watch.note_rollouts([episode.trajectory for episode in episodes])
        credit = self._credit(episodes)
        rows = rows_of(episodes)
        chunks: Any = self.args.steps_per_generation if self._training else 1
        count = batch_size(self._largest(len(rows)), chunks, self._group_size)
        self._rows = fill(rows, count, self._padding)
        with self._scoring([row.sample for row in self._rows]):
            output = super()._generate_and_score_completions([{"prompt": ""} for _ in self._rows])
        metrics = self._metrics[self._mode]
        metrics["frac_reward_zero_std"].pop()  # TRL's is of rows, not of groups of episodes
        for name, value in credit.metrics.items():
            metrics[name].append(value)
        device = output["completion_ids"].device
        output["advantages"] = token_advantages(self._rows, credit.steps, output["completion_ids"].shape[1]).to(device)
        output["row"] = torch.arange(count, device=device)
        taught: Any = self.accelerator.reduce(torch.tensor(float(len(rows)), device=device), reduction="mean")
        output["rows_that_teach"] = taught / chunks
        self._publish(episodes, credit.steps)
        return output

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> torch.Tensor:
        returns = [[row.episode_return] for row in self._rows]
        rewards: Any = gather(torch.tensor(returns, dtype=torch.float32, device=self.accelerator.device))
        return rewards

    def _credit(self, episodes: Sequence[TokenEpisode]) -> Credit:
        """Credit of the local episodes, from the groups of all processes; its metrics are of all episodes."""
        local = [episode.trajectory for episode in episodes]
        everyone: list[Trajectory] = gather_object(local) if self.accelerator.num_processes > 1 else local
        credit = assign_credit(everyone, self._group_size, self.credit_terms)
        first = self.accelerator.process_index * len(local)
        return Credit(credit.steps[first : first + len(local)], credit.metrics)

    def _note_seconds(self, seconds: Mapping[str, float]) -> None:
        super()._note_seconds(seconds)
        for name, value in self.collector.spent(seconds[WRAPPERS]).items():
            self._metrics["train"][name] = [value]  # a running total, of which the log shows the last and not a mean

    def parts_with_state(self) -> dict[str, Any]:
        """The environments, their factory, wrappers and judges, the credit terms, and what was spent so far."""
        named = {f"term/{term_name(term)}": term for term in self.credit_terms}
        return self.collector.parts_with_state(named)

    def _publish(self, episodes: Sequence[TokenEpisode], steps: Sequence[Floats]) -> None:
        """Write the advantages into the trajectories, save them and hand them to the caller."""
        done = [e.trajectory.with_steps(advantage=map(float, a)) for e, a in zip(episodes, steps, strict=True)]
        if self.args.save_rollouts:
            for trajectory in done:
                append_trajectory(self.rollouts_path, trajectory)
        if self.on_rollouts is not None:
            self.on_rollouts(done)

    @property
    def _padding(self) -> int:
        token: Any = self._tokenizer.pad_token_id
        return token

    @property
    def _mode(self) -> str:
        return "train" if self._training else "eval"

    @property
    def _training(self) -> bool:
        model: Any = self.model
        return model.training

    @property
    def _group_size(self) -> int:
        size = self.num_generations if self._training else self.num_generations_eval
        return size or 1

    # The loss

    @contextmanager
    def _scoring(self, samples: Sequence[TokenSample]) -> Iterator[None]:
        """Which samples the rows of the next calls of `_get_per_token_logps_and_entropies` are."""
        self._scored = samples
        try:
            yield
        finally:
            self._scored = ()

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *args: Any, **kwargs: Any
    ) -> Any:
        if self.args.action_style == "generated":
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
            )
        policy: Any = self.model
        lengths = [layout_size(sample) for sample in self._scored]
        parts = micro_batches.cut(lengths, self.args.max_tokens_per_micro_batch)
        logps, entropies = [], []
        for part in parts:
            with self.accelerator.autocast():
                scores = score_samples(
                    model,
                    [self._scored[i] for i in part],
                    width=logits_to_keep,
                    temperature=self.args.action_temperature,
                    padding=self._padding,
                    attention=policy.config._attn_implementation,
                )
            logps.append(scores[0])
            entropies.append(scores[1])
        back = torch.tensor([i for part in parts for i in part], device=input_ids.device).argsort()
        return torch.cat(logps)[back], torch.cat(entropies)[back], None

    def _lengths(self, batch: Batch) -> list[int]:
        """Positions that each row takes in a forward pass."""
        if self.args.action_style == "constrained":
            return [layout_size(sample) for sample in self._samples(batch)]
        return (batch["prompt_mask"].sum(1) + batch["completion_mask"].sum(1)).tolist()

    def _samples(self, batch: Batch) -> list[TokenSample]:
        """The samples of a batch's rows; a row that is masked as a whole teaches nothing."""
        used = batch["completion_mask"].any(1).tolist()
        nothing = TokenSample.empty(self._padding)
        rows = zip(batch["row"].tolist(), used, strict=True)
        return [self._rows[i].sample if teaches else nothing for i, teaches in rows]

    def _compute_loss(self, model: Any, inputs: Batch) -> torch.Tensor:
        with self._scoring(self._samples(inputs)):
            return super()._compute_loss(model, inputs)


def _played_rows(prompts: list[Any], trainer: AgentGRPOTrainer) -> dict[str, Any]:
    """TRL's rollout function: token ids, their log-probabilities, and the mask of tokens that the model chose."""
    samples = [row.sample for row in trainer._rows]
    return {
        "prompt_ids": [s.prompt_ids for s in samples],
        "completion_ids": [s.completion_ids for s in samples],
        "logprobs": [s.log_probabilities for s in samples],
        "env_mask": [[int(step >= 0) for step in s.step_ids] for s in samples],
    }
