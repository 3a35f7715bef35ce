"""`Collector`: whole batches of episodes for a trainer, whatever its environments and judges do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from accelerate.utils import gather_object
from trl.extras.profiling import profiling_context

from agentkit.trainers.batching.whole_model import whole_model
from agentkit.trainers.credit.spending import JudgeSpending, usage_in
from agentkit.trainers.robustness.guarding import FailureReport, play_all
from agentkit.trainers.robustness.outage import OutageGuard, judges_of
from agentkit.trainers.robustness.resume import stateful_parts
from agentkit.trainers.rollouts.episodes import Start
from agentkit.trainers.rollouts.playing import Player
from agentkit.trainers.rollouts.text_generation import VLLMGenerator
from agentkit.trainers.rollouts.token_episode import TokenEpisode


class Collector:
    """Plays a trainer's tasks with its policy, and completes what failed, in step with its other processes.

    Args:
        trainer: the `AgentGRPOTrainer`.
        env_factory: makes a text environment.
        wrappers: callables applied to each environment, innermost first.
    """

    def __init__(
        self, trainer: Any, env_factory: Callable[[], gym.Env], wrappers: Sequence[Callable[[gym.Env], gym.Env]]
    ):
        self._trainer, self._args, self._accelerator = trainer, trainer.args, trainer.accelerator
        self._env_factory = env_factory
        self.player = Player(env_factory, wrappers, trainer.args, trainer._tokenizer, trainer.clock)
        self.spending = JudgeSpending(lambda: usage_in(self.player.envs))
        self.outage_guard = OutageGuard(trainer.args.outage_policy, total=self._total)

    def collect(self, tasks: Sequence[Mapping[str, Any]], group_size: int) -> list[TokenEpisode]:
        """`play`, with what the judges could not answer asked again or left out (``args.on_judge_outage``), logged."""
        episodes, report = self._complete(tasks, group_size)
        for name, value in report.metrics().items():
            self._trainer._metrics[self._trainer._mode][name].append(value)
        trajectories = [episode.trajectory for episode in episodes]
        mended = self.outage_guard.mend(trajectories, judges_of(self.player.envs[0]))
        return [TokenEpisode(e.samples, trajectory) for e, trajectory in zip(episodes, mended, strict=True)]

    def play(self, tasks: Sequence[Mapping[str, Any]], group_size: int) -> list[TokenEpisode]:
        """One episode for each task; those whose environment fails are completed by ``args.on_env_failure``.

        Args:
            tasks: with a ``seed`` and, where wanted, ``options`` for ``env.reset``.
            group_size: neighbours (across processes) that form a group.
        """
        return self._complete(tasks, group_size)[0]

    def _complete(
        self, tasks: Sequence[Mapping[str, Any]], group_size: int
    ) -> tuple[list[TokenEpisode], FailureReport]:
        trainer = self._trainer
        mode = trainer._mode
        generator = self._vllm_generator(len(tasks)) if trainer.use_vllm else None

        def play(indices: Sequence[int], attempt: int) -> list[TokenEpisode]:
            starts = [self._start(tasks, i, group_size, mode, attempt) for i in indices]
            with whole_model(trainer) as model:
                return self.player.play(
                    model,
                    starts,
                    temperature=None if mode == "train" else self._args.eval_temperature,
                    generator=generator,
                    anyone_live=bool if generator is None else self._anyone,
                    places=indices,
                )

        return play_all(
            play,
            len(tasks),
            rule=self._args.on_env_failure,
            max_retries=self._args.max_env_retries,
            anyone=self._anyone,
        )

    def spent(self, seconds: float) -> dict[str, float]:
        """What the judges of all processes have cost so far, these further seconds included."""
        self.spending.add_seconds(seconds)
        everyone = gather_object([self.spending.totals()])
        return {name: sum(totals.get(name, 0.0) for totals in everyone) for name in everyone[0]}

    def parts_with_state(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """The environments, their factory, wrappers and judges, the costs so far, and what else is ``named``."""
        self.player.prepare(self._args.per_device_train_batch_size * self._args.steps_per_generation)
        own = {"env_factory": self._env_factory, "spending": self.spending, "outage": self.outage_guard}
        return stateful_parts({**named, **own}, self.player.envs)

    def _start(self, tasks: Sequence[Mapping[str, Any]], i: int, group_size: int, mode: str, attempt: int) -> Start:
        # Where in the optimizer step this batch stands, so that a resumed run draws as an uninterrupted one does; and
        # the place among the episodes of all processes, so that their number changes nothing.
        step, part = self._trainer.state.global_step, self._trainer._step % self._args.gradient_accumulation_steps
        place = self._accelerator.process_index * len(tasks) + i
        return Start(
            seed=int(tasks[i]["seed"]),
            group=f"{'' if mode == 'train' else 'eval-'}step-{step}-group-{place // group_size}",
            rng=np.random.default_rng([self._args.seed, step, part, place, attempt]),
            options=tasks[i].get("options"),
        )

    def _vllm_generator(self, width: int) -> VLLMGenerator:
        trainer = self._trainer
        if trainer.state.global_step != trainer._last_loaded_step:
            with profiling_context(trainer, "sync_weights"):
                trainer.vllm_generation.sync_weights()
            trainer._last_loaded_step = trainer.state.global_step
        return VLLMGenerator(
            trainer.vllm_generation,
            width,
            (trainer._tokenizer.eos_token_id,),
            self._args.max_action_tokens,
            lambda: profiling_context(trainer, "vLLM.generate"),
        )

    def _anyone(self, here: bool) -> bool:
        """Whether it is so on any process."""
        return any(gather_object([here]))

    def _total(self, counts: tuple[int, int]) -> tuple[int, int]:
        """Both counts, summed over all processes."""
        tensor = torch.tensor(counts, device=self._accelerator.device)
        first, second = self._accelerator.reduce(tensor, reduction="sum").tolist()
        return first, second
