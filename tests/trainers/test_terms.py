"""Credit terms, and how a step's credit reaches its tokens."""

import math

import numpy as np
import pytest

pytest.importorskip("trl")

from agentkit.decisions import Verdict
from agentkit.trainers.terms import RoleCredit, StepScores, evaluate_term
from agentkit.trainers.token_episode import TokenEpisode
from agentkit.trajectory import Step, Trajectory


def episode(scores, roles=None, judge="judge"):
    roles = roles or [None] * len(scores)
    verdicts = [Verdict.no_score("no answer") if s is None else Verdict(s) for s in scores]
    steps = [
        Step(observation="", action="a", reward=0, scores={judge: v}, role=r)
        for v, r in zip(verdicts, roles, strict=True)
    ]
    return Trajectory(goal="", steps=steps)


def test_step_scores_are_centred_within_the_group():
    values = evaluate_term(StepScores(weight=0.5), [episode([1.0, 0.5]), episode([0.0, None])])
    np.testing.assert_allclose(values[0], [0.25, 0.0])
    np.testing.assert_allclose(values[1], [-0.25, 0.0])
    assert values[1][1] == 0.0


def test_step_scores_name_the_judge_that_is_missing():
    with pytest.raises(ValueError, match=r"no scores of judge 'oracle' in the group \(found \['judge'\]\)"):
        StepScores(judge="oracle")([episode([1.0])])


def test_role_credit_uses_the_fixed_constants():
    values = evaluate_term(RoleCredit(weight=0.3), [episode([0, 0, 0], ["decisive", None, "regression"])])
    np.testing.assert_allclose(values[0], [0.3, 0.0, -0.15])


def test_nan_of_an_own_term_adds_exactly_zero():
    assert evaluate_term(lambda group: [np.array([math.nan, 1.0])], [episode([0, 0])])[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("values", [[np.zeros(3)], [np.zeros(2)] * 2, [np.array([math.inf, 0.0])]])
def test_a_term_of_the_wrong_form_is_named(values):
    def mine(group):
        return values

    with pytest.raises(ValueError, match="credit term 'mine'"):
        evaluate_term(mine, [episode([0, 0])])


def test_tokens_get_their_steps_advantage_and_observations_none():
    tokens = TokenEpisode([1, 2])
    tokens.add_action((5, 6), np.array([-0.1, -0.2]), 0)
    tokens.add_context((7, 8, 9))
    tokens.add_action((5,), np.array([-0.3]), 1)
    assert tokens.ids == (1, 2, 5, 6, 7, 8, 9, 5)
    assert tokens.log_probabilities == [-0.1, -0.2, 0.0, 0.0, 0.0, -0.3]
    assert tokens.token_advantages(np.array([0.5, -1.0])).tolist() == [0.5, 0.5, 0.0, 0.0, 0.0, -1.0]
