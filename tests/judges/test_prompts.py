"""Templates: what they may hold, and the exact words of every query."""

from pathlib import Path

import attrs
import pytest

from agentkit.decisions import Query
from agentkit.judges import RoleJudge, RolePrompt, StepJudge, StepPrompt
from agentkit.judges.prompts import QUESTIONS, placeholders
from agentkit.testing import ScriptedModel
from tests.judges.episodes import episode

SNAPSHOTS = Path(__file__).parent / "snapshots"
THREE = episode(["look", "take mug 1", "heat mug 1"])

STEP_CASES = {
    f"{context}-{question}": StepJudge(ScriptedModel(), context=context, question=question)
    for context in ("prefix", "prefix+feedback", 0.5, "hindsight")
    for question in QUESTIONS
}


def as_text(query: Query) -> str:
    parts = {"system": query.system, "context": query.context, "question": query.question.text}
    parts |= {"options": " / ".join(query.question.options), "focus": "\n".join(query.focus)}
    return "".join(f"== {name}\n{text}\n" for name, text in parts.items())


@pytest.mark.parametrize("name", STEP_CASES)
def test_step_query_snapshot(name):
    assert as_text(STEP_CASES[name].queries(THREE)[1]) == (SNAPSHOTS / f"step-{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("window", [1, 5])
def test_role_query_snapshot(window):
    query = RoleJudge(ScriptedModel(), window=window).queries(episode())[3]
    assert as_text(query) == (SNAPSHOTS / f"role-window-{window}.txt").read_text("utf-8")


def test_every_snapshot_belongs_to_a_test():
    expected = {f"step-{name}.txt" for name in STEP_CASES} | {"role-window-1.txt", "role-window-5.txt"}
    assert {path.name for path in SNAPSHOTS.iterdir()} == expected


def test_the_default_templates_are_short():
    for prompt in (StepPrompt(), RolePrompt()):
        assert all(len(text.split()) < 60 for text in attrs.astuple(prompt))
    assert all(len(text.split()) < 20 for text in QUESTIONS.values())


def test_an_own_template_replaces_one_and_keeps_the_others():
    prompt = StepPrompt(step="{n}> {action} => {feedback} {{kept}}")
    query = StepJudge(ScriptedModel(), prompt=prompt).queries(THREE)[0]
    assert "1> look => seen 1 {kept}\n2> take mug 1 => seen 2 {kept}" in query.context
    assert query.system == StepPrompt().system
    own = RolePrompt(question="Type {action} ({n}) for {goal}", start="")
    query = RoleJudge(ScriptedModel(), prompt=own).queries(THREE)[1]
    assert query.question.text == "Type take mug 1 (2) for put a hot mug on the desk"
    assert "seen 0" not in query.context


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{goals}",
            r"StepPrompt.opening has the unknown placeholder \{goals\}; known .* are \{goal\}, \{observation\}",
        ),
        ("{goal.__class__}", r"unknown placeholder \{goal.__class__\}"),
        ("{}", r"unknown placeholder \{\}"),
        ("{goal!r}", "unknown placeholder"),
        ("{goal:{observation}}", "unknown placeholder"),
        ("a lone {", "is no template .*a brace that is meant as text is written twice"),
        ("a lone }", "is no template"),
    ],
)
def test_a_bad_template_is_named_with_the_mend(template, message):
    with pytest.raises(ValueError, match=message):
        StepPrompt(opening=template)


def test_a_template_must_be_text():
    with pytest.raises(TypeError, match=r"RolePrompt.system must be a str, got NoneType"):
        RolePrompt(system=None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="prompt"):
        StepJudge(ScriptedModel(), prompt="You are a judge")  # pyright: ignore[reportArgumentType]


def test_placeholders_are_told():
    assert placeholders("{n}: {action} {{goal}}", ("n", "action", "goal"), "question") == {"n", "action"}
