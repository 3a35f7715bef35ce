"""Routers: what they learn, that they survive JSON, and what they are worth on tasks they have not seen."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.causal import FEATURES, cross_fit, fit_router, load_router
from tests.causal.rows import row


def ledger(seed=0, rows=200, tasks=20):
    """Interventions rescue where the actor repeats itself, and harm where it does not."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(rows):
        repeats = int(rng.integers(2))
        lucky = rng.random() < 0.8
        kind = ("rescued" if repeats else "harmed") if lucky else ("both wrong" if repeats else "both right")
        made.append(row(kind, task=f"t{i % tasks}", step=int(rng.integers(30)), repetition=repeats, entropy=None))
    return made


def features(**values):
    return {**dict.fromkeys(FEATURES, 0.0), "entropy": None, "step": 15.0, **values}


def test_it_learns_when_to_intervene():
    router = fit_router(ledger())
    assert router(features(repetition=1.0)) > 0.5
    assert router(features(repetition=0.0)) < -0.5


def test_a_cost_is_taken_off_the_value():
    rows = ledger()
    state = features(repetition=1.0)
    assert fit_router(rows, cost=0.3)(state) == pytest.approx(fit_router(rows)(state) - 0.3)


def test_an_unknown_feature_counts_as_the_average_and_one_that_never_varied_as_nothing():
    rows = [row("rescued" if i % 2 else "harmed", margin=float(i % 2), budget_left=None) for i in range(20)]
    router = fit_router(rows)
    assert router(features(margin=None)) == pytest.approx(router(features(margin=0.5)))
    assert router(features(margin=0.5, budget_left=7.0)) == pytest.approx(router(features(margin=0.5)))


def test_it_looks_at_the_named_features_only():
    router = fit_router(ledger(), features=["repetition"])
    assert router({"repetition": 1.0}) > 0
    with pytest.raises(ValueError, match="the feature 'repetition' is missing"):
        router({"step": 1.0})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16))
def test_it_survives_json(tmp_path_factory, seed):
    router = fit_router(ledger(seed, rows=30))
    path = router.save(tmp_path_factory.mktemp("router") / "router.json")
    assert load_router(path) == router


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("rescue"), "rescue"),
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.update(means=[0.0]), "equally many"),
        (lambda d: d["scales"].__setitem__(0, 0.0), "scales above 0"),
        (lambda d: d.update(cost="much"), "cost"),
    ],
)
def test_a_broken_file_is_a_clear_error(tmp_path, change, message):
    path = fit_router(ledger()).save(tmp_path / "router.json")
    values = json.loads(path.read_text("utf-8"))
    change(values)
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"router.json holds no router: .*{message}"):
        load_router(path)


def test_no_json_and_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_router(tmp_path / "absent.json")
    (tmp_path / "router.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="is not JSON"):
        load_router(tmp_path / "router.json")


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="a router needs some to learn from"):
        fit_router([])


class TestCrossFit:
    def test_the_policies_add_up(self):
        rows = ledger()
        report = cross_fit(rows)
        never, always, router, hindsight = (
            report.policies[name] for name in ("never", "always", "router", "hindsight")
        )
        assert (never.interventions, always.interventions) == (0, len(rows))
        assert never.won == sum(r.won_without for r in rows)
        assert always.won == sum(r.won_with for r in rows)
        assert router.won == never.won + router.rescued - router.harmed
        assert hindsight.won == never.won + always.rescued
        assert hindsight.won >= max(router.won, never.won, always.won)

    def test_a_router_that_has_learnt_beats_always_and_never(self):
        report = cross_fit(ledger())
        assert report.policies["router"].success > report.policies["always"].success + 0.2
        assert report.policies["router"].success > report.policies["never"].success + 0.2
        assert "router" in report.table()

    def test_nothing_is_learnt_from_noise(self):
        rng = np.random.default_rng(0)
        rows = [
            row(rng.choice(["rescued", "harmed"]), task=f"t{i % 40}", repetition=float(rng.integers(2)))
            for i in range(400)
        ]
        report = cross_fit(rows)
        assert abs(report.policies["router"].success - report.policies["never"].success) < 0.06

    def test_every_task_is_held_out_once(self):
        fitted = []

        def fit(rows):
            fitted.append({r.task_id for r in rows})
            return fit_router(rows)

        rows = [row("rescued", task=f"t{i}", step=i) for i in range(7)]
        cross_fit(rows, folds=3, fit=fit)
        held_out = [{r.task_id for r in rows} - tasks for tasks in fitted]
        assert sorted(task for fold in held_out for task in fold) == sorted(r.task_id for r in rows)

    def test_a_task_is_never_on_both_sides(self):
        seen = []

        def fit(rows):
            tasks = {r.task_id for r in rows}

            def router(values):
                seen.append(f"t{int(values['margin'])}" in tasks)
                return 1.0

            return router

        cross_fit([row("rescued", task=f"t{i % 6}", margin=float(i % 6)) for i in range(30)], folds=4, fit=fit)
        assert len(seen) == 30
        assert not any(seen)

    @pytest.mark.parametrize("folds", [1, 4])
    def test_folds(self, folds):
        with pytest.raises(ValueError, match="folds must be at least 2 and at most the number of tasks"):
            cross_fit([row("rescued", task=str(i)) for i in range(3)], folds=folds)
