import math

import pytest

from agentkit.testing import ScriptedEnv
from agentkit.wrappers import RoleCreditWrapper
from tests.wrappers import judges

ACTIONS = ("look", "take key", "drop key", "take key", "unlock chest", "take gem")


def last_info(env):
    env.reset()
    return [env.step(action) for action in ACTIONS][-1][4]


def test_roles_and_their_credit_come_with_the_end():
    info = last_info(RoleCreditWrapper(ScriptedEnv(), judges.by_milestone, weight=0.2))
    assert info["roles"] == (None, "decisive", "regression", "decisive", "decisive", "decisive")
    # raw (0, ..., 1) + 0.2 * (1, -0.5), nothing for the abstention
    assert info["shaped_rewards"] == pytest.approx((0.0, 0.2, -0.1, 0.2, 0.2, 1.2))


def test_own_constants():
    env = RoleCreditWrapper(ScriptedEnv(), judges.by_milestone, 1.0, {"decisive": 0.5, "regression": -2.0})
    assert last_info(env)["shaped_rewards"] == pytest.approx((0.0, 0.5, -2.0, 0.5, 0.5, 1.5))


def test_a_judge_that_raises_leaves_no_roles(caplog):
    info = last_info(RoleCreditWrapper(ScriptedEnv(), judges.failing))
    assert info["roles"] == (None,) * 6
    assert info["shaped_rewards"] == (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert "judge 'failing' failed on 6 steps, left unscored: TimeoutError" in caplog.text


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (lambda t: ["decisive"], "role judge '<lambda>' returned 1 roles for 6 steps; return one a step"),
        (
            lambda t: ["great"] * 6,
            "role judge '<lambda>', step 0: 'great' is none of decisive, exploration, no-progress",
        ),
    ],
)
def test_wrong_answers(judge, message):
    with pytest.raises(ValueError, match=message):
        last_info(RoleCreditWrapper(ScriptedEnv(), judge))


def test_bad_arguments():
    with pytest.raises(ValueError, match="weight must be a finite number, got inf"):
        RoleCreditWrapper(ScriptedEnv(), judges.by_milestone, math.inf)
    with pytest.raises(TypeError, match=r"judge must be callable as judge\(trajectory\), got None"):
        RoleCreditWrapper(ScriptedEnv(), None)  # pyright: ignore[reportArgumentType]
