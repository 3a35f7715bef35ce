"""`RoleCreditWrapper` for vector environments."""

from collections.abc import Mapping

from gymnasium.vector import VectorEnv

from agentkit.wrappers.roles import RoleGrader, RoleJudgeCallable
from agentkit.wrappers.vector.graded import VectorGradedWrapper


class RoleCreditWrapper(VectorGradedWrapper):
    """`agentkit.wrappers.RoleCreditWrapper` around a vector environment: one batched call for all its copies.

    All episodes that end in a vector step are typed together, by ``judge.judge_all(trajectories)`` where the judge has
    it. What it says stands where the wrapper would put it inside each copy, in Gymnasium's form for vectors:
    ``infos["roles"][i]``, and in `SAME_STEP` mode ``infos["final_info"]["roles"][i]``.

    Args:
        env: a vector environment of texts, as `agentkit.make_vec` makes it.
        judge: as in the wrapper for one environment; so are the others.
        weight: λ.
        constants: role name -> c; None = TRIAGE's (1, 0.5, -0.1, -0.5).
        timeout: how many seconds a vector step waits for the judge; None = as long as it takes.

    Raises:
        TypeError, ValueError: as the wrapper for one environment; the vector environment does not say its autoreset
            mode.
    """

    def __init__(
        self,
        env: VectorEnv,
        judge: RoleJudgeCallable | str,
        weight: float = 0.3,
        constants: Mapping[str, float] | None = None,
        timeout: float | None = None,
    ):
        grader = RoleGrader.build(judge, weight, constants)
        super().__init__(env, grader, timeout)
        self.judge, self.weight, self.constants = grader.judge, weight, grader.constants
