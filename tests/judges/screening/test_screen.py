"""`screen`: what it measures of judges that are known, what it asks, and how it goes on after an interruption."""

import csv
import json
import math
from collections import Counter
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.decisions import Decision, Usage, Verdict
from agentkit.judges.oracle import NoisyOracle, OracleJudge
from agentkit.judges.screening import screen
from agentkit.judges.step_judge import StepJudge
from agentkit.models.prices import Price
from agentkit.testing import ScriptedModel
from agentkit.trajectory import Step, Trajectory
from tests.references import screening as reference

KINDS = {"m": ("milestone",), "o": (), "n": ()}


def episode(kinds: str, name: str = "") -> Trajectory:
    """Steps by kind: "m" achieves a milestone, "n" changes nothing, "o" neither; of "?" nothing is known."""
    steps = [
        Step(
            observation=f"{name} seen {t}",
            action=f"{kind} {t}",
            reward=0.0,
            feedback=f"{name} seen {t + 1}",
            milestones=KINDS.get(kind, ()),
            state_changed=None if kind == "?" else kind != "n",
        )
        for t, kind in enumerate(kinds)
    ]
    return Trajectory(goal="the goal", steps=steps, task_id=name)


EPISODES = [episode("omn", "a"), episode("nmom", "b"), episode("om", "c"), episode("on", "d")]


def by_kind(milestone: float | None, other: float | None, no_op: float | None, name: str = "judge"):
    """A judge that scores a step by its kind."""
    table = {"m": milestone, "o": other, "n": no_op}

    def judge(trajectory):
        return [table[step.action[0]] for step in trajectory.steps]

    judge.__name__ = name
    return judge


def test_the_means_are_first_within_and_then_over_trajectories():
    scores = {"a": [0.4, 1.0, 0.2], "b": [0.0, 0.6, 0.3, 0.8], "c": [0.5, 0.9], "d": [0.1, 0.6]}
    found = screen(EPISODES, {"judge": lambda trajectory: scores[trajectory.task_id]})["judge"]
    assert found.means == pytest.approx(
        {"milestone": (1.0 + 0.7 + 0.9) / 3, "other": (0.4 + 0.3 + 0.5 + 0.1) / 4, "no-op": (0.2 + 0.0 + 0.6) / 3}
    )
    assert found.gap is not None
    assert found.gap.estimate == pytest.approx((0.8 + 0.7) / 2)  # only a and b have both kinds
    assert found.gap.count == 2
    assert (found.scored, found.unscored) == (11, 0)


scored_steps = st.lists(st.tuples(st.sampled_from("mon"), st.none() | st.floats(0, 1)), min_size=1, max_size=5)


@given(st.lists(scored_steps, min_size=1, max_size=5).filter(lambda e: any(k == "m" for steps in e for k, _ in steps)))
def test_means_and_gap_against_the_slow_ones(episodes):
    names = {"m": "milestone", "o": "other", "n": "no-op"}
    means, gap, count = reference.means_and_gap(
        [([names[kind] for kind, _ in steps], [score for _, score in steps]) for steps in episodes]
    )
    recorded = [episode("".join(kind for kind, _ in steps), str(i)) for i, steps in enumerate(episodes)]
    judge = {"judge": lambda trajectory: [score for _, score in episodes[int(trajectory.task_id)]]}
    found = screen(recorded, judge, resamples=10)["judge"]
    assert found.means == pytest.approx(means)
    assert (None if found.gap is None else found.gap.count) == (count or None)
    assert found.gap is None or found.gap.estimate == pytest.approx(gap)


def test_the_oracle_tells_everything_and_a_constant_judge_nothing():
    result = screen(EPISODES, [OracleJudge(), by_kind(0.5, 0.5, 0.5)])
    oracle, constant = result["oracle"], result["judge"]
    assert oracle.gap is not None
    assert constant.gap is not None
    assert (oracle.gap.estimate, oracle.gap.low, oracle.auc_no_op, oracle.auc_rest) == (1.0, 1.0, 1.0, 1.0)
    assert (constant.gap.estimate, constant.auc_no_op, constant.auc_rest) == (0.0, 0.5, 0.5)
    assert oracle.on_top[0].share == 1.0
    assert constant.on_top[0].share == pytest.approx(constant.on_top[0].chance)
    assert oracle.on_top[0].chance == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)


def test_unscored_steps_are_left_out_and_counted_with_their_reasons():
    result = screen(EPISODES, {"full": by_kind(0.9, 0.4, 0.1), "abstains": by_kind(0.9, 0.4, None)})
    full, abstains = result["full"], result["abstains"]
    assert abstains.means == {**full.means, "no-op": None}
    assert abstains.gap is None
    assert abstains.unscored == 3
    assert abstains.unscored_share == pytest.approx(3 / 11)
    assert abstains.reasons == {"the judge abstained": 3}
    assert abstains.on_top[0].share == full.on_top[0].share == 1.0


def test_a_judge_that_fails_on_one_trajectory_keeps_the_others():
    def judge(trajectory):
        if trajectory.task_id == "a":
            raise TimeoutError("too slow")
        return by_kind(0.9, 0.4, 0.1)(trajectory)

    found = screen(EPISODES, {"judge": judge})["judge"]
    assert found.reasons == {"TimeoutError: too slow": 3}
    assert found.gap is not None
    assert found.gap.estimate == pytest.approx(0.8)
    assert found.gap.count == 1


def test_steps_of_which_nothing_is_known_have_no_kind():
    result = screen([episode("m?n")], {"judge": lambda trajectory: [0.9, 0.5, 0.1]})
    assert result.steps == {"milestone": 1, "other": 0, "no-op": 1, "unknown": 1}
    assert result["judge"].brier == pytest.approx((0.01 + 0.01) / 2)


def test_an_episode_without_steps_changes_nothing():
    judges = {"model": StepJudge(ScriptedModel()), "oracle": OracleJudge()}
    some, more = screen(EPISODES, judges), screen([*EPISODES, episode("")], judges)
    assert more.trajectories == some.trajectories + 1
    for name in judges:
        assert attrs.evolve(more[name], seconds_per_score=None) == attrs.evolve(some[name], seconds_per_score=None)


def test_milestones_on_top_are_grouped_by_length():
    episodes = [episode("om", "a"), episode("omo", "b"), episode("ooom", "c")]
    scores = {"a": [0.1, 0.9], "b": [0.9, 0.1, 0.1], "c": [0.0, 0.0, 0.0, 1.0]}
    found = screen(episodes, {"judge": lambda t: scores[t.task_id]}, edges=(2, 3))["judge"]
    assert [(part.steps, part.trajectories, part.share) for part in found.on_top] == [
        ("all", 3, pytest.approx(2 / 3)),
        ("1-2", 1, 1.0),
        ("3-3", 1, 0.0),
        ("4+", 1, 1.0),
    ]


def test_step_judges_are_asked_in_every_context_with_every_question():
    model = ScriptedModel()
    result = screen(
        EPISODES,
        {"model": StepJudge(model), "oracle": OracleJudge()},
        contexts=["prefix", 0.5],
        questions={"progress": "progress", "wise": "Was {action} wise? Answer yes or no."},
        reversals=0,
    )
    assert [m.candidate for m in result.measures] == [
        "model/prefix-progress",
        "model/prefix-wise",
        "model/0.5-progress",
        "model/0.5-wise",
        "oracle",
    ]
    assert len(model.queries) == 4 * 11
    texts = Counter("wise" in query.question.text for query in model.queries)
    assert texts == {True: 22, False: 22}
    assert result["model/0.5-wise"].question == "wise"
    assert result["oracle"].reference
    assert [set(t.steps[0].scores) for t in result.scored] == [{m.candidate for m in result.measures}] * 4


def test_flips_show_whether_the_order_of_the_options_decides():
    def first_option(query):
        return 0.9

    def content(query):
        return "yes" if "Consider step 2" in query.question.text else "no"

    judges = {"places": StepJudge(ScriptedModel(first_option)), "content": StepJudge(ScriptedModel(content))}
    result = screen(EPISODES, {**judges, "plain": by_kind(1, 1, 1)})
    assert result["places"].flip_rate == 1.0
    assert result["content"].flip_rate == 0.0
    assert result["plain"].flip_rate is None
    assert result["content"].asked_reversed == 11
    some = screen(EPISODES, judges, reversals=1)
    assert some["places"].asked_reversed == 3


def test_costs_are_of_the_scores_in_the_first_order():
    def model(queries):
        return [Decision(q.question, (0.5, 0.5), usage=Usage(100, 10, 1)) for q in queries]

    found = screen(EPISODES, {"model": StepJudge(model)}, prices={"model": Price(1.0, 2.0)})["model"]
    assert found.tokens_per_score == 110
    assert found.dollars_per_score == pytest.approx(120e-6)
    assert found.seconds_per_score is not None
    unpriced = screen(EPISODES, {"other": StepJudge(model)}, prices={"model": Price(1.0, 2.0)})["other"]
    assert unpriced.dollars_per_score is None


@pytest.mark.parametrize("batch_size", [1, 2, 3, 10])
def test_batches_change_the_calls_and_not_the_result(batch_size):
    model = ScriptedModel({"Consider step 2": 0.9, "": 0.3})
    alone = screen(EPISODES, {"model": StepJudge(ScriptedModel(model.script))})
    together = screen(EPISODES, {"model": StepJudge(model)}, batch_size=batch_size)
    without_time = [attrs.evolve(r["model"], seconds_per_score=None) for r in (alone, together)]
    assert without_time[0] == without_time[1]
    assert max(model.calls) == max(
        sum(map(len, EPISODES[start : start + batch_size])) for start in range(0, 4, batch_size)
    )


class Interrupted(ScriptedModel):
    """Is interrupted at one of its calls, as by Ctrl-C."""

    def __init__(self, at: int | None):
        super().__init__({"Consider step 2": 0.9, "": 0.3})
        self.at = at

    def __call__(self, queries):
        if len(self.calls) == self.at:
            raise KeyboardInterrupt
        return super().__call__(queries)


@pytest.mark.parametrize("at", [0, 1, 5, 12])
def test_an_interrupted_screening_goes_on_without_asking_twice(at, tmp_path):
    options = {"contexts": ["prefix", "hindsight"], "questions": ["progress"]}
    whole = Interrupted(None)
    expected = screen(EPISODES, {"model": StepJudge(whole)}, **options, out=tmp_path / "whole")
    first, second = Interrupted(at), Interrupted(None)
    with pytest.raises(KeyboardInterrupt):
        screen(EPISODES, {"model": StepJudge(first)}, **options, out=tmp_path / "parts")
    seen = []
    result = screen(
        EPISODES,
        {"model": StepJudge(second)},
        **options,
        out=tmp_path / "parts",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert Counter(first.queries) + Counter(second.queries) == Counter(whole.queries)
    assert seen[-1] == (16, 16)
    for ours, theirs in zip(result.measures, expected.measures, strict=True):
        assert attrs.evolve(ours, seconds_per_score=None) == attrs.evolve(theirs, seconds_per_score=None)
    again = Interrupted(0)
    assert screen(EPISODES, {"model": StepJudge(again)}, **options, out=tmp_path / "parts") == result


def test_more_episodes_and_more_judges_can_join_later(tmp_path):
    calls = Counter()

    def counted(trajectory):
        calls[trajectory.task_id] += 1
        return by_kind(0.9, 0.4, 0.1)(trajectory)

    screen(EPISODES[:2], {"first": counted}, out=tmp_path)
    result = screen(EPISODES, {"first": counted, "second": by_kind(0.2, 0.2, 0.2)}, out=tmp_path)
    assert calls == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert result["second"].scored == 11


def test_what_is_unscored_is_asked_again_on_demand_only(tmp_path):
    answers = iter([None, 0.5])

    def judge(trajectory):
        return [next(answers)]

    one = [episode("m")]
    assert screen(one, {"judge": judge}, out=tmp_path)["judge"].unscored == 1
    assert screen(one, {"judge": judge}, out=tmp_path)["judge"].unscored == 1
    assert screen(one, {"judge": judge}, out=tmp_path, retry_unscored=True)["judge"].unscored == 0
    assert screen(one, {"judge": judge}, out=tmp_path)["judge"].unscored == 0


@pytest.mark.parametrize(
    "other",
    [
        StepJudge(ScriptedModel(), question="value"),
        StepJudge(ScriptedModel(), context="prefix"),
        OracleJudge(),
        StepJudge(lambda queries: []),
    ],
)
def test_scores_of_another_judge_of_the_same_name_are_refused(other, tmp_path):
    screen(EPISODES, {"judge": StepJudge(ScriptedModel())}, out=tmp_path)
    with pytest.raises(ValueError, match=r"scores.jsonl holds scores of 'judge' by another model"):
        screen(EPISODES, {"judge": other}, out=tmp_path)


def test_scores_of_other_trajectories_are_refused_and_signals_do_not_make_a_trajectory_another(tmp_path):
    screen(EPISODES, [OracleJudge()], out=tmp_path)
    with pytest.raises(ValueError, match="scores of other trajectories only"):
        screen([episode("mmm", "z")], [OracleJudge()], out=tmp_path)
    scored = [t.with_scores("else", [Verdict(0.1)] * len(t)) for t in EPISODES]
    before = (tmp_path / "scores.jsonl").read_text()
    screen(scored, [OracleJudge()], out=tmp_path)
    assert (tmp_path / "scores.jsonl").read_text() == before


def test_the_tables_and_files_say_the_same(tmp_path):
    result = screen(EPISODES, [OracleJudge(), by_kind(0.9, 0.4, None, name="a|b")], out=tmp_path)
    data = json.loads((tmp_path / "screening.json").read_text())
    assert data["measures"][0]["gap"] == {"estimate": 1.0, "low": 1.0, "high": 1.0, "count": 2}
    assert data["measures"][1]["gap"] is None
    rows = list(csv.DictReader((tmp_path / "screening.csv").open()))
    assert [row["candidate"] for row in rows] == ["oracle", "a|b"]
    assert float(rows[1]["mean_milestone"]) == 0.9
    assert rows[1]["gap_estimate"] == ""
    markdown = (tmp_path / "screening.md").read_text()
    assert "| oracle (truth) | 1.000 | 0.500 | 0.000 | +1.000 | [+1.000, +1.000] n=2 | 100.0% |" in markdown
    assert "a\\|b" in markdown
    for text in (markdown, result.table()):
        assert result.recommendation.text in text
        assert "4 episodes, 0 won; steps: 4 milestone, 4 other, 3 no-op." in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trajectories": []}, "trajectories holds no steps"),
        ({"trajectories": [episode("on")]}, "no step of the trajectories has milestones"),
        ({"judges": []}, "judges is empty"),
        ({"judges": [OracleJudge(), OracleJudge()]}, "two judges are named 'oracle'"),
        (
            {"judges": [StepJudge(ScriptedModel())], "questions": ["Was {action} wise?", "Was {action} wise!"]},
            "two judges are named 'hindsight-Was-action-wise'",
        ),
        ({"edges": (20, 10)}, "edges must be increasing"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"judges": [StepJudge(ScriptedModel())], "contexts": ["prefx"]}, "context must be one of"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        screen(**{"trajectories": EPISODES, "judges": [OracleJudge()], **arguments})


def test_an_unknown_candidate_is_named():
    with pytest.raises(KeyError, match=r"no candidate 'orakel'; there are \['oracle'\]"):
        screen(EPISODES, [OracleJudge()])["orakel"]


def test_on_real_episodes_the_oracle_leads_and_noise_comes_between(real_episodes, tmp_path):
    judges = {
        "oracle": OracleJudge(),
        "30% noise": NoisyOracle(0.3),
        "80% noise": NoisyOracle(0.8),
        "constant": lambda trajectory: [0.5] * len(trajectory),
    }
    result = screen(real_episodes, judges, out=tmp_path)
    names = list(judges)
    gaps = [result[name].gap for name in names]
    assert all(gap is not None and gap.count >= 20 for gap in gaps)
    estimates = [gap.estimate for gap in gaps if gap is not None]
    assert estimates[0] == 1.0
    assert estimates[1] == pytest.approx(0.7, abs=0.1)  # (1 - noise) times the oracle's
    assert estimates[2] == pytest.approx(0.2, abs=0.15)
    assert estimates[3] == 0.0
    for measure in ("auc_no_op", "auc_rest"):
        values = [getattr(result[name], measure) for name in names]
        assert values == sorted(values, reverse=True)
    tops = [result[name].on_top[0] for name in names]
    assert [top.share for top in tops] == sorted((top.share for top in tops), reverse=True)
    assert math.isclose(tops[3].share, tops[3].chance)
    assert not any(m.unscored for m in result.measures)
    assert result.recommendation.grounds == "no gap"  # the constant judge is the only one that could be trained with


def test_the_folder_may_be_given_as_text(tmp_path):
    screen(EPISODES, [OracleJudge()], out=str(tmp_path / "deep" / "folder"))
    assert {p.name for p in Path(tmp_path / "deep" / "folder").iterdir()} == {
        "scores.jsonl",
        "screening.csv",
        "screening.json",
        "screening.md",
    }
