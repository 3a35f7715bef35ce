"""Hypothesis strategies for the core types."""

import math

from hypothesis import strategies as st

from agentkit import Decision, Query, Question, Step, Trajectory, Verdict
from agentkit.decisions import Usage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32).map(float)
maybe_finite = st.none() | finite
scores = st.floats(0.0, 1.0)
verdicts = scores.map(Verdict) | st.text(min_size=1, max_size=10).map(Verdict.no_score)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | finite | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)

steps = st.builds(
    Step,
    observation=texts,
    action=texts,
    reward=finite,
    feedback=texts,
    admissible_actions=st.lists(texts, max_size=3).map(tuple),
    raw_reward=maybe_finite,
    shaped_reward=maybe_finite,
    scores=st.dictionaries(texts, verdicts, max_size=2),
    role=st.none() | st.sampled_from(["decisive", "regression"]),
    advantage=maybe_finite,
    state_changed=st.none() | st.booleans(),
    milestones=st.lists(texts, max_size=2).map(tuple),
    probability=st.none() | scores,
    gate=st.none() | st.dictionaries(texts, json_values, max_size=2),
    info=st.dictionaries(texts, json_values, max_size=2),
)

trajectories = st.builds(
    Trajectory,
    goal=texts,
    steps=st.lists(steps, max_size=3).map(tuple),
    final_observation=texts,
    terminated=st.booleans(),
    truncated=st.booleans(),
    won=st.booleans(),
    task_id=texts,
    task_type=texts,
    seed=st.none() | st.integers(0, 2**63),
    group=st.none() | texts,
    info=st.dictionaries(texts, json_values, max_size=2),
)

questions = (
    st.builds(Question, texts)
    | st.builds(Question, texts, st.just("choice"), st.lists(texts, min_size=1, max_size=4, unique=True).map(tuple))
    | st.builds(Question, texts, st.just("score"), st.lists(texts, min_size=2, max_size=4, unique=True).map(tuple))
)
queries = st.builds(Query, texts, questions, texts)
usages = st.builds(Usage, *[st.integers(0, 10_000)] * 3)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    question = draw(questions)
    if draw(st.booleans()):
        return Decision(question, unscored=draw(st.text(min_size=1, max_size=10)), usage=draw(usages))
    weights = [draw(st.integers(1, 100)) for _ in question.options]
    probabilities = tuple(w / math.fsum(weights) for w in weights)
    return Decision(question, probabilities, draw(st.none() | scores), draw(usages))
