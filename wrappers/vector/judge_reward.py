"""`JudgeRewardWrapper` for vector environments."""

from gymnasium.vector import VectorEnv, VectorWrapper

from agentkit.verdicts import Judge
from agentkit.wrappers.step_scores import ScoreGrader
from agentkit.wrappers.vector.graded import VectorGradedWrapper


class JudgeRewardWrapper(VectorGradedWrapper):
    """`agentkit.wrappers.JudgeRewardWrapper` around a vector environment: one batched call for all its copies.

    All episodes that end in a vector step are judged together, by ``judge.judge_all(trajectories)`` where the judge has
    it, and a prefix judge scores the steps of all copies together, by ``judge.score_last_all(trajectories)``. A
    trajectory that the judge fails on costs the others nothing. Rewards and infos are those that the wrapper would give
    inside each copy, in Gymnasium's form for vectors: ``infos["step_scores"][i]``, and in `SAME_STEP` mode
    ``infos["final_info"]["step_scores"][i]``, where ``infos["_step_scores"][i]`` says that they are there.

    Args:
        env: a vector environment of texts, as `agentkit.make_vec` makes it.
        judge: as in the wrapper for one environment; so are the others.
        weight: what a score of 1 adds to a reward.
        name: the judge's name in ``verdicts``; None = its own, numbered when the stack has another judge of that name.
        timeout: how many seconds a vector step waits for the judge; None = as long as it takes.

    Raises:
        TypeError, ValueError: as the wrapper for one environment; the vector environment does not say its autoreset
            mode.
    """

    def __init__(
        self,
        env: VectorEnv,
        judge: Judge | str,
        weight: float = 0.5,
        name: str | None = None,
        timeout: float | None = None,
    ):
        inner = _judge_names(env)
        grader = ScoreGrader.build(judge, weight, name, inner)
        super().__init__(env, grader, timeout)
        self.judge, self.weight, self.name = grader.judge, weight, grader.name
        self.judge_names = (*inner, self.name)
        """The names of the judges of this stack, innermost first."""


def _judge_names(env: VectorEnv) -> tuple[str, ...]:
    """The judges further in, those inside the copies included."""
    if isinstance(env, JudgeRewardWrapper):
        return env.judge_names
    if isinstance(env, VectorWrapper):
        return _judge_names(env.env)
    call = getattr(env, "call", None)
    if call is None or not all(call("has_wrapper_attr", "judge_names")):
        return ()
    return call("get_wrapper_attr", "judge_names")[0]
