"""`JudgeRewardWrapper`: a judge's step scores as rewards."""

import itertools
import math
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.decisions import Verdict
from agentkit.verdicts import Judge, as_verdict, call_judge, judge_name
from agentkit.wrappers.episodes import EpisodeWrapper
from agentkit.wrappers.sharing import record, resolve

UNJUDGED = (
    "%r never saw the end of an episode of %d steps, which is left without scores; "
    "a wrapper that ends episodes, such as TimeLimit, belongs inside this one"
)


class JudgeRewardWrapper(EpisodeWrapper, RecordConstructorArgs):
    """Scores every action of an episode with a judge.

    A judge is any callable ``judge(trajectory) -> scores``, one score in [0, 1] a step (None = unscored). It is taken
    as a *hindsight* judge unless it has ``judge.context == "prefix"``.

    * **Hindsight**: scores cannot exist before the episode ends. The last info then holds ``step_scores`` (T floats,
      NaN = unscored), ``verdicts`` (judge name -> T `Verdict`\\ s) and ``shaped_rewards`` (T floats); the rewards that
      ``step`` returned stay as they were.
    * **Prefix**: each action is scored at once; ``weight * score`` is added to the reward that ``step`` returns, and
      ``info["step_score"]`` holds the score. The last info has the same keys as above.

    ``shaped_rewards[t] = raw_reward[t] + weight * score[t]``; an unscored step adds exactly 0. Wrappers stack: an outer
    one adds to the ``shaped_rewards`` of the inner ones, ``verdicts`` holds each judge under its own name, and
    ``step_scores`` are the outermost judge's. A wrapper that ends episodes (``TimeLimit``) belongs inside this one: an
    end that this one does not see leaves the episode without scores, and is logged.

    Args:
        env: a text environment.
        judge: the judge, or an import string ``"package.module:attribute"`` (a spec with a string survives JSON).
        weight: what a score of 1 adds to a reward.
        name: the judge's name in ``verdicts``; None = its own, numbered when the stack has another judge of that name.

    Raises:
        ValueError: (from ``step``) the judge returned a wrong number of scores, NaN, or a score outside [0, 1]. A judge
            that *raises* leaves its steps unscored, with the reason, and is logged.
    """

    _episode_fields = ("_episode", "_open", "_verdicts")

    def __init__(self, env: gym.Env, judge: Judge | str, weight: float = 0.5, name: str | None = None):
        RecordConstructorArgs.__init__(self, judge=record(judge), weight=weight, name=name)
        EpisodeWrapper.__init__(self, env)
        if not math.isfinite(weight):
            raise ValueError(f"weight must be a finite number, got {weight!r}")
        self.judge: Judge = resolve(judge, "judge")
        if not callable(self.judge):
            raise TypeError(f"judge must be callable as judge(trajectory), got {self.judge!r}")
        self.weight = weight
        self.name = _free_name(env, self.judge, name)
        self._online = getattr(self.judge, "context", "hindsight") == "prefix"
        self._verdicts: list[Verdict] = []

    def _begin(self) -> None:
        self._verdicts = []

    def _cut(self, steps: int) -> None:
        if not self._online:
            self._warn_once(UNJUDGED, self.name, steps)

    def _after_step(self, reward: float, ended: bool, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        if self._online:
            verdict = self._score_last_step()
            self._verdicts.append(verdict)
            reward += self._bonus(verdict)
            info = {**info, "step_score": _number(verdict)}
        if not ended:
            return reward, info
        verdicts = self._verdicts if self._online else call_judge(self.judge, self._episode.trajectory())
        shaped = [base + self._bonus(v) for base, v in zip(self._shaped_so_far(info), verdicts, strict=True)]
        return reward, {
            **info,
            "step_scores": tuple(map(_number, verdicts)),
            "shaped_rewards": tuple(shaped),
            "verdicts": {**info.get("verdicts", {}), self.name: tuple(verdicts)},
        }

    def _score_last_step(self) -> Verdict:
        trajectory = self._episode.trajectory()
        last = getattr(self.judge, "score_last", None)  # a judge that need not score the earlier steps again
        if last is None:
            return call_judge(self.judge, trajectory)[-1]
        return call_judge(lambda t: [*[None] * (len(t) - 1), as_verdict(last(t))], trajectory)[-1]

    def _bonus(self, verdict: Verdict) -> float:
        return 0.0 if verdict.score is None else self.weight * verdict.score


def _free_name(env: gym.Env, judge: Judge, name: str | None) -> str:
    """The name for ``verdicts``: two judges of one stack must not share it, or one would lose its scores."""
    taken = set()
    while isinstance(env, gym.Wrapper):
        if isinstance(env, JudgeRewardWrapper):
            taken.add(env.name)
        env = env.env
    if name is not None:
        if name in taken:
            raise ValueError(f"name {name!r} is taken by another JudgeRewardWrapper of this stack; choose another")
        return name
    own = judge_name(judge)
    numbered = (own if n == 1 else f"{own} {n}" for n in itertools.count(1))
    return next(candidate for candidate in numbered if candidate not in taken)


def _number(verdict: Verdict) -> float:
    return math.nan if verdict.score is None else verdict.score
