"""What `RoleJudge` shows, hides and answers."""

import logging
import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.credit import ROLE_CONSTANTS
from agentkit.judges import RoleJudge
from agentkit.judges.prompts import ROLES
from agentkit.models import Prompted
from agentkit.models.chat_service import ChatReply
from agentkit.testing import ScriptedModel, check_judge
from tests.judges.episodes import ACTIONS, episode, played, with_feedback

TWELVE = episode([f"act {t}" for t in range(12)])


def asks(**settings):
    return RoleJudge(ScriptedModel(), **settings).queries


def test_roles_are_asked_in_one_batch_for_all_trajectories():
    model = ScriptedModel({"heat": "decisive", "": "no-progress"})
    columns = RoleJudge(model, window=0).judge_all([episode(), episode(ACTIONS[3:]), episode([])])
    assert columns == [["no-progress"] * 3 + ["decisive", "no-progress"], ["decisive", "no-progress"], []]
    assert model.calls == [7]


def test_the_judges_roles_are_those_that_have_a_credit():
    assert set(ROLES) == set(ROLE_CONSTANTS)
    assert asks()(episode())[0].question.options == ROLES


def test_up_to_five_pairs_on_each_side_are_shown():
    shown = [re.findall(r"act \d+$", query.context, re.MULTILINE) for query in asks()(TWELVE)]
    assert shown == [[f"act {n}" for n in range(max(0, t - 5), min(12, t + 6))] for t in range(12)]


@given(played(max_steps=9), st.integers(0, 3), st.data())
def test_what_lies_outside_the_window_is_not_shown(trajectory, window, data):
    t, changed = (data.draw(st.integers(0, len(trajectory) - 1)) for _ in range(2))
    other = with_feedback(trajectory, changed, "a change that no text holds")
    visible = abs(changed - t) <= window and changed < len(trajectory) - 1
    assert (asks(window=window)(trajectory)[t] != asks(window=window)(other)[t]) == visible


@given(played(max_steps=9), st.data())
def test_the_outcome_changes_nothing(trajectory, data):
    rewards = data.draw(st.lists(st.sampled_from([0.0, 1.0, 10.0]), min_size=len(trajectory), max_size=len(trajectory)))
    other = attrs.evolve(
        with_feedback(trajectory, len(trajectory) - 1, "You won! Your score is 1.0"),
        won=not trajectory.won,
        terminated=not trajectory.terminated,
        truncated=not trajectory.truncated,
        final_observation="You won!",
    ).with_steps(reward=rewards, raw_reward=rewards, shaped_reward=rewards, milestones=[("placed",)] * len(trajectory))
    assert asks()(other) == asks()(trajectory)


def test_the_number_in_the_episode_is_not_shown():
    """The last steps of a long and of a short episode read alike, so the limit of steps cannot be told."""
    short, long = episode(["act", "act", "end"], won=False), episode([*["act"] * 49, "end"], won=False)
    same = [attrs.evolve(step, observation="here", feedback="here") for step in long.steps]
    long, short = attrs.evolve(long, steps=same), attrs.evolve(short, steps=same[:2] + same[-1:])
    last = asks(window=1)(long)[-1]
    assert last == asks(window=1)(short)[-1]
    assert "50" not in last.context + last.question.text


@given(played(), st.integers(0, 5))
def test_the_target_stands_in_the_focus_and_the_question(trajectory, window):
    for query, step in zip(asks(window=window)(trajectory), trajectory.steps, strict=True):
        assert query.focus[0] in query.context
        number = re.match(r"Step (\d+): ", query.focus[0])
        assert number is not None
        assert query.question.text.startswith(f"Consider step {number[1]}: {step.action}\n")


def test_it_abstains_below_its_threshold_and_without_an_answer(caplog):
    answers = {"step 4:": (0.4, 0.3, 0.2, 0.1), "step 1:": None, "step 2:": (0.5, 0.2, 0.2, 0.1)}
    model = ScriptedModel({**answers, "": (0.9, 0.1, 0.0, 0.0)})
    with caplog.at_level(logging.INFO, logger="agentkit.judges"):
        assert RoleJudge(model, threshold=0.5)(episode()) == [None, "decisive", "decisive", None, "decisive"]
    assert [record.getMessage() for record in caplog.records] == [
        "roles: no answer on 1 of 5 actions, mostly: the script gives no answer",
        "roles: unsure about 1 of 5 actions",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": -1}, "window"),
        ({"threshold": 1.5}, "threshold"),
        ({"outcome_patterns": ["you won", "(unclosed"]}, r"outcome_patterns holds '\(unclosed', which is no regular"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        RoleJudge(ScriptedModel(), **settings)


def test_it_keeps_the_contract_of_judges():
    check_judge(RoleJudge(ScriptedModel(lambda query: "exploration")), roles=ROLES)


class ThoughtfulChat:
    """Names the right role only after thinking; without thoughts it guesses, as TRIAGE observed of its judge."""

    identity = "thoughtful"
    tells_log_probabilities = False

    def __call__(self, requests):
        return [ChatReply(self._text(request.messages[-1]["content"])) for request in requests]

    def _text(self, content):
        right = "A" if "heat mug 1\nWhich role" in content else "C"
        return f"The mug has to be hot.\nAnswer: {right}" if "Think first" in content else "B"


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [(True, ["no-progress"] * 3 + ["decisive", "no-progress"]), (False, ["exploration"] * 5)],
)
def test_the_model_thinks_first_where_it_is_told_to(thinking, expected):
    judge = RoleJudge(Prompted(ThoughtfulChat(), thinking=thinking, samples=1))
    assert judge(episode()) == expected


def test_a_reply_without_an_answer_is_an_abstention():
    chat = ThoughtfulChat()
    chat._text = lambda content: "I cannot tell."
    assert RoleJudge(Prompted(chat, thinking=True, samples=1, retries=0))(episode(ACTIONS[:2])) == [None, None]


def test_a_real_model_types_actions(smol):
    from agentkit.models import ConstrainedReadout

    assert set(RoleJudge(ConstrainedReadout(*smol), window=1)(episode(ACTIONS[:3]))) <= set(ROLES)
