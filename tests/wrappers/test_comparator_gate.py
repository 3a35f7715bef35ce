"""The gate: both orders, advice that does not bind, budgets, bounds, and no environment step for a withheld action."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit

from agentkit.rollout import rollout
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper, JudgeRewardWrapper
from tests.wrappers import judges


def prefers(*better):
    """A comparator that prefers the named actions to any other, whatever their order."""

    def compare(comparisons):
        return ["A" if c.a in better else "B" if c.b in better else "T" for c in comparisons]

    return compare


class Counting(gym.Wrapper):
    """Counts the steps that reach the environment."""

    steps = 0

    def step(self, action):
        self.steps += 1
        return self.env.step(action)


def gate(comparator, **kwargs) -> tuple[Any, str, dict[str, Any]]:
    env = ComparatorGateWrapper(Counting(ScriptedEnv()), comparator, **kwargs)
    observation, info = env.reset(seed=0)
    return env, observation, info


def test_a_preferred_alternative_withholds_the_proposal():
    env, seen, _ = gate(prefers("take key"))
    observation, reward, terminated, truncated, info = env.step("look")
    assert env.env.steps == 0
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert observation.startswith(seen)
    assert "'take key'" in observation.removeprefix(seen)
    assert info["admissible_actions"] == ("look", "take key")
    assert (info["state_changed"], info["milestones"]) == (False, ())
    assert info["gate"] == {
        "withheld": True,
        "proposal": "look",
        "executed": None,
        "alternatives": ("take key",),
        "preferred": ("take key",),
        "margin": 1.0,
        "failed": False,
        "round": 0,
        "interventions": 1,
        "advice": None,
    }


@pytest.mark.parametrize(
    ("second", "fate", "observation"),
    [
        ("take key", "followed", "You hold the key"),
        ("look", "reproposed", "You are in a hall"),
        ("jump", "ignored", ""),
    ],
)
def test_the_next_proposal_goes_through_and_its_fate_is_told(second, fate, observation):
    env, _, _ = gate(prefers("take key"))
    env.step("look")
    seen, _, _, _, info = env.step(second)
    assert env.env.steps == 1
    assert seen.startswith(observation)
    assert (info["gate"]["advice"], info["gate"]["executed"], info["gate"]["round"]) == (fate, second, 1)


@pytest.mark.parametrize("comparator", [judges.always_first, judges.always_second])
def test_winning_one_order_only_is_not_a_preference(comparator):
    env, _, _ = gate(comparator)
    *_, info = env.step("look")
    assert not info["gate"]["withheld"]
    assert info["gate"]["preferred"] == ()


def test_both_orders_are_asked_in_one_batch_with_goal_history_and_observation():
    asked = []

    def compare(comparisons):
        asked.append(list(comparisons))
        return ["T"] * len(comparisons)

    env, seen, _ = gate(compare)
    env.step("take key")
    env.step("unlock chest")
    first, second = asked
    assert [(c.a, c.b) for c in first] == [("take key", "look"), ("look", "take key")]
    assert len(second) == 4
    assert second[0].history == (("take key", "You hold the key. The chest is locked."),)
    assert (first[0].observation, first[0].goal) == (seen, "take the gem out of the chest")


def test_r_asks_for_several_preferred_alternatives():
    def candidates(observation, info, proposal, k):
        return ["take key", "b", proposal, "take key"]

    only_one = gate(prefers("take key"), candidates=candidates, k=2, r=2)[0]
    assert not only_one.step("look")[4]["gate"]["withheld"]
    both = gate(prefers("take key", "b"), candidates=candidates, k=2, r=2)[0]
    assert both.step("look")[4]["gate"]["preferred"] == ("take key", "b")


def test_forced_executes_the_alternative():
    env, _, _ = gate(prefers("take key"), mode="forced")
    observation, *_, info = env.step("look")
    assert observation.startswith("You hold the key")
    assert (info["gate"]["proposal"], info["gate"]["executed"], info["gate"]["withheld"]) == ("look", "take key", False)
    assert info["gate"]["interventions"] == 1


def test_forced_executes_the_alternative_that_beats_most_of_the_others():
    def compare(comparisons):
        rank = {"look": 0, "b": 1, "take key": 2}
        order = [(rank[c.a], rank[c.b]) for c in comparisons]
        return ["A" if a > b else "B" if b > a else "T" for a, b in order]

    env, _, _ = gate(compare, candidates=lambda *arguments: ["b", "take key"], mode="forced")
    gate_info = env.step("look")[4]["gate"]
    assert gate_info["preferred"] == ("b", "take key")
    assert gate_info["executed"] == "take key"
    assert env.totals["comparisons"] == 4 + 2


def test_forced_takes_the_first_of_equals():
    env, _, _ = gate(prefers("b", "take key"), candidates=lambda *arguments: ["b", "take key"], mode="forced")
    assert env.step("look")[4]["gate"]["executed"] == "b"


def test_a_proposal_is_compared_once_however_often_one_asks():
    asked = []

    def compare(comparisons):
        asked.append(len(comparisons))
        return judges.prefers_progress(comparisons)

    env, _, _ = gate(compare)
    assert env.would_intervene("look")
    assert env.examine("look").preferred == ("take key",)
    assert env.step("look")[4]["gate"]["withheld"]
    assert asked == [2]


def test_what_is_let_through_is_executed_and_costs_no_comparison():
    env, _, _ = gate(judges.failing, budget=1)
    env.let_through()
    gate_info = env.step("look")[4]["gate"]
    assert (gate_info["executed"], gate_info["failed"], gate_info["interventions"]) == ("look", False, 0)
    assert env.budget_left == 1
    assert env.step("look")[4]["gate"]["failed"], "only one proposal is let through"


def test_what_was_compared_and_let_through_is_no_intervention():
    env, _, _ = gate(prefers("take key"))
    assert env.would_intervene("look")
    env.let_through()
    gate_info = env.step("look")[4]["gate"]
    assert (gate_info["executed"], gate_info["preferred"], gate_info["interventions"]) == ("look", ("take key",), 0)


def test_margin_says_how_clearly_the_alternatives_win():
    def compare(comparisons):
        rank = {"worse": 0, "look": 1, "same": 1, "better": 2}
        return ["A" if rank[c.a] > rank[c.b] else "B" if rank[c.b] > rank[c.a] else "T" for c in comparisons]

    def of(*alternatives):
        return gate(compare, candidates=lambda *arguments: alternatives, r=4)[0].examine("look")

    assert of("better", "same", "worse").margin == 0.0
    assert of("better").margin == 1.0
    assert of("worse", "same").margin == -0.5
    assert of().margin == 0.0
    assert of("better", "same", "worse").preferred_share == pytest.approx(1 / 3)


def test_the_comparator_is_shown_the_admissible_actions():
    asked = []

    def compare(comparisons):
        asked.extend(comparisons)
        return ["T"] * len(comparisons)

    gate(compare)[0].step("look")
    assert asked[0].admissible_actions == ("look", "take key")


def test_budget_bounds_the_states_with_intervention():
    env, _, _ = gate(prefers("take key", "unlock chest"), budget=1)
    assert env.step("look")[4]["gate"]["withheld"]
    env.step("take key")
    assert not env.step("look")[4]["gate"]["withheld"]
    env.reset()
    assert env.step("look")[4]["gate"]["withheld"]


def test_rounds_bound_the_interventions_in_a_state():
    env, _, _ = gate(prefers("take key"), rounds=3)
    withheld = [env.step("look")[4]["gate"]["withheld"] for _ in range(5)]
    assert withheld == [True, True, True, False, True]
    assert env.env.steps == 1


def test_every_answer_to_advice_has_a_fate_even_when_it_is_withheld_too():
    env, _, _ = gate(prefers("take key"), rounds=3)
    fates = [env.step(action)[4]["gate"]["advice"] for action in ("look", "jump", "look", "look", "take key")]
    assert fates == [None, "ignored", "reproposed", "reproposed", None]
    assert [env.totals[name] for name in ("followed", "ignored", "reproposed", "withheld")] == [0, 1, 2, 3]


def test_a_proposal_that_follows_the_advice_is_not_compared_again():
    asked = []

    def compare(comparisons):
        asked.append([(c.a, c.b) for c in comparisons])
        return ["B" if c.a == "look" else "A" if c.b == "look" else "T" for c in comparisons]

    env, _, _ = gate(compare, rounds=3)
    env.step("look")
    gate_info = env.step("take key")[4]["gate"]
    assert (gate_info["advice"], gate_info["executed"]) == ("followed", "take key")
    assert len(asked) == 1


def test_a_failing_comparator_lets_the_proposal_through_and_is_counted():
    def compare(comparisons):
        raise TimeoutError("no answer")

    env = ComparatorGateWrapper(ScriptedEnv(max_steps=2), compare)
    env.reset(seed=0)
    env.step("look")
    *_, info = env.step("look")
    assert info["gate"]["totals"]["failures"] == 2
    assert info["gate"]["totals"]["withheld"] == 0


def raises(comparisons):
    raise RuntimeError("no answer")


@pytest.mark.parametrize(
    ("compare", "unanswered"),
    [
        (raises, 2),
        (lambda comparisons: ["B"], 2),
        (lambda comparisons: ["B", "A", "A"], 2),
        (lambda comparisons: 7, 2),
        (lambda comparisons: None, 2),
        (lambda comparisons: ["B", "X"], 1),
        (lambda comparisons: ["b", "a"], 2),
        (lambda comparisons: [None, "A"], 1),
        (lambda comparisons: [math.nan, "A"], 1),
        (lambda comparisons: [np.array(["B", "B"]), 0], 2),
    ],
)
def test_whatever_a_comparator_leaves_unanswered_lets_the_proposal_through_and_is_counted(compare, unanswered, caplog):
    env, _, _ = gate(compare)
    *_, info = env.step("look")
    assert (info["gate"]["executed"], info["gate"]["preferred"], info["gate"]["failed"]) == ("look", (), True)
    assert (env.totals["failures"], env.totals["unanswered"], env.totals["comparisons"]) == (1, unanswered, 2)
    assert "comparator" in caplog.text


def test_an_answer_in_one_order_is_enough_to_count_as_failed_and_not_enough_to_be_preferred():
    def candidates(observation, info, proposal, k):
        return ["take key", "dance"]

    env, _, _ = gate(lambda comparisons: ["B", "B", None, "A"], candidates=candidates)
    gate_info = env.step("look")[4]["gate"]
    assert gate_info["preferred"] == ("dance",)
    assert gate_info["failed"]
    assert gate_info["withheld"]


def test_answers_may_be_numpy_strings():
    env, _, _ = gate(lambda comparisons: np.array(["B", "A"]))
    assert env.step("look")[4]["gate"]["preferred"] == ("take key",)


def test_failing_candidates_let_the_proposal_through_and_are_counted(caplog):
    def candidates(observation, info, proposal, k):
        raise ConnectionError("no pool")

    env, _, _ = gate(prefers("take key"), candidates=candidates)
    assert env.step("look")[4]["gate"]["executed"] == "look"
    assert env.totals["failures"] == 1
    assert "candidates failed" in caplog.text


@pytest.mark.parametrize("drawn", ["take key", ["take key", 3], None])
def test_candidates_that_are_no_actions_are_a_clear_error(drawn):
    env, _, _ = gate(prefers("take key"), candidates=lambda *arguments: drawn)
    with pytest.raises(TypeError, match="candidates must return a sequence of actions"):
        env.step("look")


def test_candidates_may_be_a_generator():
    env, _, _ = gate(prefers("take key"), candidates=lambda *arguments: (a for a in ("look", "take key")))
    assert env.step("look")[4]["gate"]["preferred"] == ("take key",)


def test_time_limit_inside_counts_executed_steps_only():
    env = ComparatorGateWrapper(TimeLimit(ScriptedEnv(), 2), prefers("take key", "unlock chest"))
    env.reset(seed=0)
    ended = [env.step(a)[3] for a in ("look", "take key", "look", "unlock chest")]
    assert ended == [False, False, False, True]


def test_time_limit_outside_counts_withheld_proposals_and_the_totals_are_still_there():
    env = TimeLimit(ComparatorGateWrapper(ScriptedEnv(), prefers("take key", "unlock chest")), 3)
    env.reset(seed=0)
    for action in ("look", "take key", "look"):
        *_, truncated, info = env.step(action)
    assert truncated
    assert "totals" not in info["gate"]
    totals = env.get_wrapper_attr("totals")
    assert (totals["steps"], totals["withheld"]) == (1, 2)


def test_totals_close_the_episode():
    env, _, _ = gate(prefers("take key", "unlock chest", "take gem"))
    for action in ("look", "take key", "look", "look", "unlock chest", "take gem"):
        *_, info = env.step(action)
    assert info["won"]
    assert info["gate"]["totals"] == {
        "steps": 4,
        "withheld": 2,
        "interventions": 2,
        "comparisons": 14,
        "failures": 0,
        "unanswered": 0,
        "followed": 1,
        "reproposed": 1,
        "ignored": 0,
    }


def test_rollout_records_executed_steps_and_keeps_the_advice_in_view():
    class Follower:
        """Looks around until it is advised."""

        def __call__(self, observation, info):
            advised = observation.partition("consider '")[2]
            return advised.partition("'")[0] or "look"

    env = ComparatorGateWrapper(ScriptedEnv(), prefers("take key", "unlock chest", "take gem"))
    trajectory = rollout(env, Follower(), seed=0, max_steps=20)[0]
    assert [s.action for s in trajectory.steps] == ["take key", "unlock chest", "take gem"]
    assert trajectory.won
    assert all("Advice" in s.observation and (s.gate or {})["advice"] == "followed" for s in trajectory.steps)


def test_candidates_are_drawn_reproducibly_and_never_the_proposal():
    seen = []

    def compare(comparisons):
        seen.append([c.b for c in comparisons if c.a == "look"])
        return ["T"] * len(comparisons)

    states = {"s": {"observation": "s", "actions": {"look": "s", **{f"a{i}": "s" for i in range(9)}}}}
    env = ComparatorGateWrapper(ScriptedEnv(states), compare, k=4)
    for _ in range(2):
        env.reset(seed=7)
        env.step("look")
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4
    assert "look" not in seen[0]


def test_own_candidates_are_asked_once_each_without_the_proposal_and_k_at_most():
    asked = []

    def compare(comparisons):
        asked.extend((c.a, c.b) for c in comparisons)
        return ["T"] * len(comparisons)

    def candidates(observation, info, proposal, k):
        return ["sing", proposal, "sing", "dance", "jump"]

    gate(compare, candidates=candidates, k=2)[0].step("look")
    assert asked == [("look", "sing"), ("look", "dance"), ("sing", "look"), ("dance", "look")]


def test_outside_an_episode_the_environment_says_what_is_wrong():
    env = ComparatorGateWrapper(ScriptedEnv(max_steps=1), prefers("take key"))
    with pytest.raises(ResetNeeded, match="has not begun"):
        env.step("look")
    env.reset()
    env.step("take key")
    with pytest.raises(ResetNeeded, match="the episode is over"):
        env.step("look")


def test_a_withheld_step_repeats_nothing_of_the_last_action():
    env = ComparatorGateWrapper(
        JudgeRewardWrapper(ScriptedEnv(), judges.PrefixJudge()), prefers("take key", "unlock chest")
    )
    env.reset(seed=0)
    env.step("take key")
    _, reward, _, _, info = env.step("look")
    assert info["gate"]["withheld"]
    assert (reward, info["raw_reward"], info["state_changed"], info["milestones"]) == (0.0, 0.0, False, ())


def test_restoring_a_withheld_moment_brings_back_advice_and_info():
    env, _, _ = gate(prefers("take key"))
    seen, _, _, _, info = env.step("look")
    moment = env.snapshot()
    env.step("take key")
    observation, restored = env.restore(moment)
    assert (observation, restored["gate"], restored["state_changed"]) == (seen, info["gate"], False)
    assert env.step("look")[4]["gate"]["advice"] == "reproposed"


@pytest.mark.parametrize("name", ["comparator", "candidates"])
def test_a_comparator_that_cannot_be_called_is_a_clear_error(name):
    with pytest.raises(TypeError, match=f"{name} must be callable"):
        ComparatorGateWrapper(ScriptedEnv(), **{"comparator": prefers(), name: 3})


def test_an_action_that_is_not_text_reaches_no_comparator():
    env, _, _ = gate(judges.failing)
    with pytest.raises(TypeError, match="action must be a str"):
        env.step(1)


@pytest.mark.parametrize("settings", [{"k": 2.0}, {"r": True}, {"budget": "1"}, {"rounds": None, "k": "4"}])
def test_settings_that_are_no_whole_numbers(settings):
    with pytest.raises(TypeError, match="must be a whole number"):
        ComparatorGateWrapper(ScriptedEnv(), prefers(), **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "need k >= 1 and 1 <= r <= k, got k=0, r=1"),
        ({"r": 5}, "need k >= 1 and 1 <= r <= k, got k=4, r=5"),
        ({"r": 0}, "need k >= 1 and 1 <= r <= k, got k=4, r=0"),
        ({"mode": "gentle"}, "mode must be 'constructive' or 'forced', got 'gentle'"),
        ({"budget": -1}, "budget must be at least 0 or None, got -1"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        ComparatorGateWrapper(ScriptedEnv(), prefers(), **settings)


def test_candidates_see_what_was_executed():
    seen = []

    def candidates(observation, info, proposal, k):
        seen.append(info["history"])
        return []

    env = ComparatorGateWrapper(ScriptedEnv(), lambda comparisons: [], candidates)
    _, info = env.reset(seed=0)
    first, second = info["admissible_actions"][:2]
    observation, *_ = env.step(first)
    env.step(second)
    assert seen == [(), ((first, observation),)]
