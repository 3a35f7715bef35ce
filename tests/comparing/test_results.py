"""Results: by hand, and only over what all arms have played."""

import pytest

from agentkit.comparing import (
    ActorShift,
    OfflineCost,
    actor_shift,
    budget_table,
    causal_table,
    offline_table,
    performance_table,
    shift_table,
    summarise_arms,
)
from agentkit.comparing.offline_cost import read_offline_costs
from agentkit.comparing.playing import PlayedEpisode, Spent
from agentkit.decisions import Usage
from agentkit.models.prices import Price


def episode(arm, seed, won, *, steps=10, seconds=1.0, interventions=0, tokens=0, **counts):
    spent = (Spent(role="actor", model="m", usage=Usage(tokens, 0, 1)),) if tokens else ()
    return PlayedEpisode(
        arm=arm,
        seed=seed,
        won=won,
        reward=float(won),
        steps=steps,
        seconds=seconds,
        interventions=interventions,
        counts=counts,
        spent=spent,
    )


PLAIN = [episode("original", i, won, tokens=1000) for i, won in enumerate([True, False, False, True])]
GATED = [
    episode("gate:x", 0, True, steps=5, seconds=3.0, interventions=1, tokens=3000, followed=1, failures=2),
    episode("gate:x", 1, True, steps=5, seconds=3.0, interventions=3, tokens=3000, followed=2, ignored=1),
    episode("gate:x", 2, True, steps=5, seconds=3.0, interventions=4, tokens=3000, reproposed=4),
    episode("gate:x", 3, False, steps=5, seconds=3.0, interventions=0, tokens=3000),
]
PRICES = {"m": Price(10.0, 0.0)}


def test_by_hand():
    original, gate = summarise_arms(PLAIN + GATED, prices=PRICES)
    assert (original.won, original.rescued, original.harmed, original.relative_time) == (2, 0, 0, 1.0)
    assert (gate.won, gate.episodes, gate.success, gate.mean_reward) == (3, 4, 0.75, 0.75)
    assert (gate.rescued, gate.harmed, gate.p_value) == (2, 1, 1.0)
    assert gate.dollars_per_100_tasks == pytest.approx(100 * 0.03)
    assert (gate.relative_time, gate.mean_seconds, gate.mean_steps) == (3.0, 3.0, 5.0)
    assert gate.intervention_frequency == pytest.approx(8 / 20)
    assert gate.many_interventions == pytest.approx(2 / 4)
    assert (gate.failures, gate.followed, gate.reproposed, gate.ignored) == (2, 3, 4, 1)
    assert gate.success_interval[0] < 0.75 < gate.success_interval[1]


def test_only_tasks_that_all_arms_played_count():
    original, gate = summarise_arms(PLAIN + GATED[:2], prices=PRICES)
    assert (original.episodes, gate.episodes) == (2, 2)
    with pytest.raises(ValueError, match="no task was played by all arms"):
        summarise_arms([PLAIN[0], GATED[1]])
    with pytest.raises(ValueError, match="no task was played by all arms"):
        summarise_arms([])


def test_without_the_original_there_is_nothing_to_rescue():
    (gate,) = summarise_arms(GATED, prices=PRICES)
    assert (gate.rescued, gate.harmed, gate.p_value, gate.relative_time) == (None, None, None, None)
    assert len(causal_table([gate]).splitlines()) == 1
    assert " - " in performance_table([gate])


def test_a_comparison_table_has_a_row_an_arm():
    results = summarise_arms(PLAIN + GATED, prices=PRICES)
    lines = performance_table(results).splitlines()
    assert [line.split()[0] for line in lines] == ["arm", "original", "gate:x"]
    assert "75.0%" in lines[2]
    assert "$3" in lines[2]
    assert "3.00x" in lines[2]


def test_budgets_stand_side_by_side():
    names = ["gate:x", "gate:x,budget=0", "gate:x,budget=2", "forced:x,k=8,budget=1,r=2"]
    results = summarise_arms([episode(name, 0, name.startswith("gate")) for name in names])
    header, first, second = budget_table(results).splitlines()
    assert header.split() == ["success", "B=0", "B=1", "B=2", "Full", ">2", "interv."]
    assert first.split() == ["gate:x", "100.0%", "-", "100.0%", "100.0%", "0.0%"]
    assert second.split() == ["forced:x,k=8,r=2", "-", "0.0%", "-", "-", "-"]
    assert budget_table(summarise_arms(PLAIN, prices=PRICES)) == ""


class TestActorShift:
    def test_ties_of_the_first_actor_are_left_out(self):
        assert actor_shift(["A", "A", "B", "T", "T"], ["A", "B", "T", "A", "T"]) == ActorShift(same=1, tie=1, reverse=1)

    def test_the_shares_add_up(self):
        shift = ActorShift(same=5, tie=3, reverse=2)
        assert [shift.share(kind) for kind in ("same", "tie", "reverse")] == [0.5, 0.3, 0.2]
        assert ActorShift(same=0, tie=0, reverse=0).share("same") == 0.0
        assert shift_table({"a -> b": shift}).splitlines()[1].split()[-4:] == ["10", "50.0%", "30.0%", "20.0%"]

    def test_bad_labels(self):
        with pytest.raises(ValueError, match="labels must be"):
            actor_shift(["A"], ["C"])
        with pytest.raises(ValueError, match="the same pairs, got 1 and 2"):
            actor_shift(["A"], ["A", "B"])


class TestOfflineCost:
    def test_the_published_table(self):
        cost = OfflineCost(base_rollouts=1.97, branch_rollouts=28.39, fine_tuning=0.80, pairs=14548)
        assert cost.total == pytest.approx(31.16)
        assert offline_table({"ALFWorld": cost}).splitlines()[1].split() == [
            "ALFWorld", "1.97", "28.4", "0.8", "31.2", "14548",
        ]  # fmt: skip

    def test_it_is_read_from_json(self, tmp_path):
        path = tmp_path / "offline.json"
        path.write_text('{"x": {"base_rollouts": 1, "branch_rollouts": 2.5, "fine_tuning": 0}}', "utf-8")
        assert read_offline_costs(path) == {"x": OfflineCost(base_rollouts=1, branch_rollouts=2.5, fine_tuning=0)}

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"x": {"base_rollouts": -1, "branch_rollouts": 1, "fine_tuning": 1}}', '{"x": {}}']
    )
    def test_a_broken_file_is_named(self, tmp_path, text):
        path = tmp_path / "offline.json"
        path.write_text(text, "utf-8")
        with pytest.raises(ValueError, match=r"offline.json"):
            read_offline_costs(path)
