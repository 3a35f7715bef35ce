"""`AgentGRPOTrainer`: TRL's GRPO, for episodes in environments, with step rewards as token advantages.

What is changed of `trl.GRPOTrainer`, and why:

* **Generation**: `rollout_func` plays whole episodes in Gymnasium environments instead of completing a prompt. TRL then
  trains on exactly the token ids that were sampled; tokens of observations are masked (its ``env_mask``).
* **Advantages**: TRL's outcome advantage has shape (B,). `_generate_and_score_completions` replaces it by (B, T): the
  same number on every token that the model chose, plus the credit terms of the step the token belongs to. TRL's loss
  takes that shape as it is. With no terms, or all weights 0, the loss is that of plain outcome GRPO to the bit.
* **Data**: rows of the dataset are tasks (a seed for ``env.reset``); the members of a group share a row, so they
  share the task and its start.

Everything else (losses, KL, clipping, PEFT, checkpoints, loggers, `accelerate launch`) is TRL's own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from accelerate.utils import gather_object
from datasets import Dataset
from gymnasium.wrappers import TimeLimit
from trl import GRPOTrainer

from agentkit.models.readout import ConstrainedReadout
from agentkit.trainers.config import AgentGRPOConfig
from agentkit.trainers.conversation import ConversationPolicy, play_conversation
from agentkit.trainers.terms import CreditTerm, evaluate_term, term_name
from agentkit.trainers.token_episode import TokenEpisode
from agentkit.trajectory import Trajectory, append_trajectory

for _hook in ("_generate_and_score_completions", "_compute_loss", "_generate", "_prepare_inputs"):
    if not hasattr(GRPOTrainer, _hook):
        raise ImportError(f'this trl has no GRPOTrainer.{_hook}; run: pip install "trl>=1.16,<1.17"')


def tasks(count: int, first_seed: int = 0) -> Dataset:
    """A dataset of ``count`` tasks: the seeds that ``env.reset`` gets."""
    return Dataset.from_dict({"prompt": [""] * count, "seed": list(range(first_seed, first_seed + count))})


def episode_return(*, episode_return: Sequence[float], **_: Any) -> list[float]:
    """The reward function that TRL sees: the return of each episode."""
    return list(episode_return)


class AgentGRPOTrainer(GRPOTrainer):
    """GRPO on episodes of a text environment.

    Args:
        model: a causal LM or its name, as for `trl.GRPOTrainer`.
        env_factory: makes a text environment; called once.
        args: the configuration.
        wrappers: callables applied to the environment, innermost first, on top of a `TimeLimit` of ``args.max_turns``:
            judges and role judges see every episode end there.
        credit_terms: what is added to the outcome advantage; each is ``term(group) -> G arrays of shape (T_i,)``.
        train_dataset: rows with a ``seed``; None = 1,000 tasks with the seeds 0 to 999.
        processing_class: the tokenizer.
        on_rollouts: called with the trajectories of each generation batch, advantages written into their steps.
        kwargs: passed to `trl.GRPOTrainer` (``peft_config``, ``callbacks``, ``optimizers``, ...).

    The return of an episode is the sum of its raw rewards: what judges add is credited step by step, not twice.
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
        names = [term_name(term) for term in credit_terms]
        if len(set(names)) != len(names):
            raise ValueError(f"credit terms must have different names, got {names}")
        reward_funcs: list[Any] = [episode_return]
        play_batch: Any = _play_batch  # TRL's type wants its own trainer class as the second argument
        super().__init__(
            model=model,
            reward_funcs=reward_funcs,
            args=args,
            train_dataset=tasks(1000) if train_dataset is None else train_dataset,
            processing_class=processing_class,
            rollout_func=play_batch,
            **kwargs,
        )
        self.credit_terms = list(credit_terms)
        self.on_rollouts = on_rollouts
        self._env: gym.Env = TimeLimit(env_factory(), args.max_turns)
        for wrapper in wrappers:
            self._env = wrapper(self._env)
        self._rows: list[dict[str, Any]] = []
        self._episodes: list[TokenEpisode] = []

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._rows = inputs
        output = super()._generate_and_score_completions(inputs)
        outcome = output["advantages"]
        steps = self._step_credit()
        output["advantages"] = self._token_advantages(outcome, steps, output["completion_ids"].shape[1])
        self._publish(outcome.tolist(), steps)
        return output

    def _token_advantages(self, outcome: torch.Tensor, steps: list[np.ndarray], width: int) -> torch.Tensor:
        """(B,) outcome advantages and B arrays (T_i,) of step credit -> (B, width), 0 on tokens of no step."""
        rows = []
        for advantage, credit, episode in zip(outcome, steps, self._episodes, strict=True):
            chosen = torch.zeros(width, dtype=torch.bool)
            extra = torch.zeros(width, dtype=outcome.dtype)
            size = len(episode.step_ids)
            chosen[:size] = torch.tensor(episode.step_ids) >= 0
            extra[:size] = torch.as_tensor(episode.token_advantages(credit), dtype=outcome.dtype)
            chosen, extra = chosen.to(outcome.device), extra.to(outcome.device)
            rows.append(torch.where(chosen, advantage + extra, torch.zeros_like(extra)))
        return torch.stack(rows)

    def _step_credit(self) -> list[np.ndarray]:
        """The sum of all credit terms for each local episode; groups are completed across processes first."""
        local = [_trajectory(episode) for episode in self._episodes]
        everyone: list[Trajectory] = gather_object(local) if self.accelerator.num_processes > 1 else local
        totals = [np.zeros(len(t)) for t in everyone]
        size = self._group_size
        for term in self.credit_terms:
            values = [v for i in range(0, len(everyone), size) for v in evaluate_term(term, everyone[i : i + size])]
            totals = [total + value for total, value in zip(totals, values, strict=True)]
            self._log_term(term_name(term), values)
        self._log_episodes(everyone)
        first = self.accelerator.process_index * len(local)
        return totals[first : first + len(local)]

    def _log_term(self, name: str, values: list[np.ndarray]) -> None:
        metrics = self._metrics["train" if self._training else "eval"]
        pooled = np.concatenate(values) if values else np.zeros(0)
        metrics[f"credit/{name}/mean"].append(float(pooled.mean()) if pooled.size else 0.0)
        metrics[f"credit/{name}/std"].append(float(pooled.std()) if pooled.size else 0.0)

    def _log_episodes(self, trajectories: list[Trajectory]) -> None:
        metrics = self._metrics["train" if self._training else "eval"]
        metrics["episodes/success"].append(float(np.mean([t.won for t in trajectories])))
        metrics["episodes/steps"].append(float(np.mean([len(t) for t in trajectories])))
        metrics["episodes/truncated"].append(float(np.mean([not t.terminated for t in trajectories])))
        verdicts = [v for t in trajectories for step in t.steps for v in step.scores.values()]
        if verdicts:
            metrics["credit/unscored"].append(float(np.mean([v.score is None for v in verdicts])))

    def _publish(self, outcome: list[float], steps: list[np.ndarray]) -> None:
        """Write the advantages into the trajectories, save them and hand them to the caller."""
        done = [
            _trajectory(episode).with_steps(advantage=[advantage + float(c) for c in credit])
            for episode, advantage, credit in zip(self._episodes, outcome, steps, strict=True)
        ]
        if self.args.save_rollouts and self.accelerator.is_main_process:
            for trajectory in done:
                append_trajectory(f"{self.args.output_dir}/rollouts.jsonl", trajectory)
        if self.on_rollouts is not None:
            self.on_rollouts(done)

    @property
    def _training(self) -> bool:
        model: Any = self.model
        return model.training

    @property
    def _group_size(self) -> int:
        size = self.num_generations if self._training else self.num_generations_eval
        return size or 1

    def play(self, seeds: Sequence[int], group_size: int) -> list[TokenEpisode]:
        """Play one episode for each seed with the current policy; ``group_size`` neighbours form a group."""
        model = self.accelerator.unwrap_model(self.model)
        training = model.training
        model.eval()
        # A fresh readout for each batch: keys and values of an earlier policy must not be reused.
        policy = ConversationPolicy(
            ConstrainedReadout(model, self._tokenizer), self.args.system_prompt, self.args.action_temperature
        )
        rank, step = self.accelerator.process_index, self.state.global_step
        # Where in the optimizer step this batch stands, so that a resumed run draws as an uninterrupted one does.
        part = self._step % self.args.gradient_accumulation_steps
        try:
            return [
                play_conversation(
                    self._env,
                    policy,
                    seed=seed,
                    group=f"step-{step}-group-{(rank * len(seeds) + i) // group_size}",
                    rng=np.random.default_rng([self.args.seed, step, part, rank, i]),
                    max_turns=self.args.max_turns,
                    max_tokens=self.args.max_completion_length or 4096,
                )
                for i, seed in enumerate(seeds)
            ]
        finally:
            model.train(training)


def _play_batch(prompts: list[Any], trainer: AgentGRPOTrainer) -> dict[str, Any]:
    """TRL's rollout function: token ids, their log-probabilities, and the mask of tokens that the model chose."""
    seeds = [int(row["seed"]) for row in trainer._rows]
    episodes = trainer._episodes = trainer.play(seeds, trainer._group_size)
    return {
        "prompt_ids": [e.prompt_ids for e in episodes],
        "completion_ids": [e.completion_ids for e in episodes],
        "logprobs": [e.log_probabilities for e in episodes],
        "env_mask": [[int(step >= 0) for step in e.step_ids] for e in episodes],
        "episode_return": [_trajectory(e).total_reward for e in episodes],
    }


def _trajectory(episode: TokenEpisode) -> Trajectory:
    if episode.trajectory is None:
        raise RuntimeError("the episode has not been played to its end")
    return episode.trajectory
