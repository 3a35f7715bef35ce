"""`JudgeRewardWrapper`: a judge's step scores as rewards."""

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentkit.verdicts import Judge
from agentkit.wrappers.graded import GradedWrapper
from agentkit.wrappers.sharing import record
from agentkit.wrappers.step_scores import ScoreGrader


class JudgeRewardWrapper(GradedWrapper, RecordConstructorArgs):
    """Scores every action of an episode with a judge.

    A judge is any callable ``judge(trajectory) -> scores``, one score in [0, 1] a step (None = unscored). It is taken
    as a *hindsight* judge unless its ``context`` is ``"prefix"`` or ``"prefix+feedback"``.

    * **Hindsight**: scores cannot exist before the episode ends. The last info then holds ``step_scores`` (T floats,
      NaN = unscored), ``verdicts`` (judge name -> T `Verdict`\\ s) and ``shaped_rewards`` (T floats); the rewards that
      ``step`` returned stay as they were.
    * **Prefix**: each action is scored at once; ``weight * score`` is added to the reward that ``step`` returns, and
      ``info["step_score"]`` holds the score. The last info has the same keys as above.

    ``shaped_rewards[t] = raw_reward[t] + weight * score[t]``; an unscored step adds exactly 0. Wrappers stack: an outer
    one adds to the ``shaped_rewards`` of the inner ones, ``verdicts`` holds each judge under its own name, and
    ``step_scores`` are the outermost judge's. A wrapper that ends episodes (``TimeLimit``) belongs inside this one: an
    end that this one does not see, or a reset before the end, leaves the episode without scores, and is logged.

    **Late judges**: with a ``timeout`` the judge answers in a thread of its own. An episode whose scores have not come
    in time ends unscored, with ``info["late_episode"]``, and `late_trajectories` hands it over when they have; so it
    does with an episode that was cut off. An online step that was not scored in time stays unscored. What comes late
    never reaches a later step or episode.

    Args:
        env: a text environment.
        judge: the judge, or an import string ``"package.module:attribute"`` (a spec with a string survives JSON).
        weight: what a score of 1 adds to a reward.
        name: the judge's name in ``verdicts``; None = its own, numbered when the stack has another judge of that name.
        timeout: how many seconds to wait for the judge, 0 = not at all; None = as long as it takes, in this thread.

    Raises:
        TypeError: (from ``reset``) the observation is not text.
        ValueError: (from ``step``) the judge returned a wrong number of scores, NaN, or a score outside [0, 1]. A judge
            that *raises* leaves its steps unscored, with the reason, and is logged.
    """

    _unseen = (
        "%r never saw the end of an episode of %d steps, which is left without scores; "
        "a wrapper that ends episodes, such as TimeLimit, belongs inside this one"
    )

    def __init__(
        self,
        env: gym.Env,
        judge: Judge | str,
        weight: float = 0.5,
        name: str | None = None,
        timeout: float | None = None,
    ):
        RecordConstructorArgs.__init__(self, judge=record(judge), weight=weight, name=name, timeout=timeout)
        inner: tuple[str, ...] = env.get_wrapper_attr("judge_names") if env.has_wrapper_attr("judge_names") else ()
        grader = ScoreGrader.build(judge, weight, name, inner)
        GradedWrapper.__init__(self, env, grader, timeout)
        self.judge, self.weight, self.name = grader.judge, weight, grader.name
        self.judge_names = (*inner, self.name)
        """The names of the judges of this stack, innermost first."""
