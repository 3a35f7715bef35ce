"""What judges cost, however deep their meters lie, and across restarts."""

import pytest

from agentkit.decisions import Decision, Usage
from agentkit.judges import OracleJudge, StepJudge
from agentkit.models.prices import Price
from agentkit.models.usage import UsageMeter
from agentkit.testing import ScriptedEnv
from agentkit.trainers.credit.spending import JudgeSpending, usage_in, usage_of
from agentkit.trajectory import Step, Trajectory
from agentkit.wrappers import JudgeRewardWrapper


def yes(queries):
    return [Decision(q.question, (1.0, 0.0), usage=Usage(1_000_000, 0, 1)) for q in queries]


@pytest.fixture
def meter():
    return UsageMeter(prices={"priced": Price(2.0, 3.0)})


def trajectory():
    return Trajectory(goal="", steps=[Step(observation="", action="a", reward=0.0)])


def spend(meter, model="priced", role="judge"):
    judge = StepJudge(meter.metered(yes, role=role, model=model))
    judge(trajectory())
    return judge


def test_a_judge_tells_what_its_model_used(meter):
    judge = spend(meter)
    meter.count("actor", "priced", Usage(7, 7, 1), True)  # not the judge's
    spending = JudgeSpending(lambda: usage_of(judge))
    spending.add_seconds(1.5)
    assert spending.totals() == {"judges/seconds": 1.5, "judges/tokens": 1e6, "judges/dollars": 2.0}


def test_judges_that_nobody_meters_have_no_price():
    spending = JudgeSpending(lambda: usage_of(OracleJudge()))
    assert spending.totals() == {"judges/seconds": 0.0}


def test_tokens_without_a_price_cost_no_made_up_dollars(meter):
    judge = spend(meter, model="unknown")
    assert JudgeSpending(lambda: usage_of(judge)).totals() == {"judges/seconds": 0.0, "judges/tokens": 1e6}


def test_a_judge_that_many_environments_share_is_counted_once(meter):
    judge = spend(meter)
    envs = [JudgeRewardWrapper(JudgeRewardWrapper(ScriptedEnv(), judge), judge, name="again") for _ in range(3)]
    assert len(usage_in(envs)) == 1
    assert JudgeSpending(lambda: usage_in(envs)).totals()["judges/tokens"] == 1e6


def test_a_ring_of_judges_ends(meter):
    class Around:
        meter = None

    ring = Around()
    ring.model = ring
    assert usage_of(ring) == []


def test_a_resumed_run_counts_on(meter):
    judge = spend(meter)
    first = JudgeSpending(lambda: usage_of(judge))
    first.add_seconds(2.0)
    fresh = UsageMeter(prices=meter.prices)
    other = StepJudge(fresh.metered(yes, role="judge", model="priced"))
    second = JudgeSpending(lambda: usage_of(other))
    second.load_state_dict(first.state_dict())
    assert second.totals() == first.totals()
    other(trajectory())
    second.add_seconds(1.0)
    assert second.totals() == {"judges/seconds": 3.0, "judges/tokens": 2e6, "judges/dollars": 4.0}
