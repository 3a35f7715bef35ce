"""The router: what it is asked, what it stops, and that a stopped intervention leaves no trace."""

import math

import pytest

from agentkit.causal import FEATURES, Router
from agentkit.causal.logistic import Logistic
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper, InterventionRouterWrapper
from tests.wrappers import judges


class Asked:
    """A router that notes its features and always gives one value."""

    def __init__(self, value):
        self.value, self.features = value, []

    def __call__(self, features):
        self.features.append(dict(features))
        return self.value


class Sure:
    """An actor that tells its distribution."""

    distribution = {"look": 0.5, "take key": 0.5}  # noqa: RUF012 - nothing changes it


def routed(router, actor=None, **gate):
    env = InterventionRouterWrapper(
        ComparatorGateWrapper(ScriptedEnv(), judges.prefers_progress, **gate), router, actor=actor
    )
    env.reset(seed=0)
    return env


def test_where_it_sees_value_the_gate_acts():
    env = routed(Asked(0.1))
    gate = env.step("look")[4]["gate"]
    assert gate["withheld"]
    assert gate["router"] == {"asked": True, "value": 0.1, "allowed": True, "stopped": 0}


@pytest.mark.parametrize("value", [0.0, -0.2])
def test_where_it_sees_none_the_proposal_goes_through_and_the_budget_stays(value):
    env = routed(Asked(value), budget=1)
    gate = env.step("look")[4]["gate"]
    assert (gate["executed"], gate["interventions"], gate["preferred"]) == ("look", 0, ("take key",))
    assert gate["router"] == {"asked": True, "value": value, "allowed": False, "stopped": 1}
    assert env.get_wrapper_attr("budget_left") == 1


def test_it_is_asked_only_where_the_gate_would_intervene():
    router = Asked(1.0)
    gate = routed(router).step("take key")[4]["gate"]
    assert router.features == []
    assert gate["router"] == {"asked": False, "value": 0.0, "allowed": True, "stopped": 0}


def test_further_rounds_in_a_state_are_not_questioned():
    router = Asked(1.0)
    env = routed(router, rounds=2)
    rounds = [env.step("look")[4]["gate"] for _ in range(3)]
    assert [gate["withheld"] for gate in rounds] == [True, True, False]
    assert len(router.features) == 1


def test_the_features_are_what_was_known_before():
    router = Asked(0.0)
    env = routed(router, actor=Sure(), budget=3)
    env.step("look")
    env.step("look")
    first, second = router.features
    assert tuple(first) == FEATURES
    assert first == {
        "step": 0.0,
        "repetition": 0.0,
        "revisits": 0.0,
        "last_changed": 1.0,
        "entropy": pytest.approx(math.log(2)),
        "margin": 1.0,
        "preferred_share": 1.0,
        "budget_left": 3.0,
    }
    assert (second["step"], second["repetition"], second["revisits"], second["last_changed"]) == (1.0, 1.0, 1.0, 0.0)


def test_without_an_actor_or_a_budget_their_features_are_unknown():
    router = Asked(0.0)
    routed(router).step("look")
    assert router.features[0]["entropy"] is None
    assert router.features[0]["budget_left"] is None


@pytest.mark.parametrize("router", [judges.failing_router, lambda features: math.nan, lambda features: "much"])
def test_a_failing_router_lets_the_proposal_through(router, caplog):
    gate = routed(router).step("look")[4]["gate"]
    assert (gate["executed"], gate["router"]["allowed"]) == ("look", False)
    assert "the router" in caplog.text


def test_a_saved_router_is_loaded(tmp_path):
    never = Logistic([0.0], -9.0)
    path = Router(features=["step"], means=[0.0], scales=[1.0], rescue=never, harm=never, cost=0.5).save(
        tmp_path / "router.json"
    )
    gate = routed(str(path)).step("look")[4]["gate"]
    assert gate["router"]["value"] == pytest.approx(-0.5)


def test_without_a_gate_there_is_nothing_to_route():
    with pytest.raises(ValueError, match="there is no gate to route"):
        InterventionRouterWrapper(ScriptedEnv(), Asked(1.0))


def test_a_router_that_cannot_be_called_is_a_clear_error():
    with pytest.raises(TypeError, match="router must be callable"):
        InterventionRouterWrapper(ComparatorGateWrapper(ScriptedEnv(), judges.prefers_progress), 3)
