"""The fast engine and the text grammar: known shapes in any wording, and nothing else."""

import pytest

from agentkit.envs.alfworld.fast import FastEngine, UnsupportedGame
from agentkit.envs.alfworld.fast.grammar import split_task
from agentkit.envs.alfworld.fast.wording import compile_wording
from tests.envs.alfworld.fast_small_game import small_game, small_grammar, small_rules


def test_wording_is_the_grammars_own() -> None:
    wording = compile_wording(split_task(small_grammar())[0], with_help=True)
    assert wording.commands["pickupobject"] == "pull {o} out of {r}"
    assert wording.commands["gotolocation"] == "walk to {r}"
    assert wording.feedback["gotolocation"] == ("At {lend}: {r}. {examine}",)
    assert wording.feedback["examinereceptacle"][0] == "In the open {r}: {items}."
    assert wording.items["examinereceptacle"] == "a {}"
    assert wording.nothing == "no object"


def test_white_space_at_the_start_of_a_text_is_lost_as_in_the_original() -> None:
    wording = compile_wording(split_task(small_grammar())[0], with_help=True)
    assert wording.feedback["help"] == ("Help yourself.\n",)
    assert wording.feedback["intro"][0].startswith("A small game.\n\n{look}")


def test_help_is_left_out_when_the_domain_has_none() -> None:
    assert "help" not in compile_wording(split_task(small_grammar())[0], with_help=False).commands


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("examineReceptacle.feedback", lambda alternatives: alternatives[1:]),
        ("examineReceptacle.feedback", lambda alternatives: alternatives[::-1]),
        ("list_empty", lambda alternatives: []),
        ("heat", lambda alternatives: [{"rhs": "{r.name} heats {k.name}."}]),
        ("heat", lambda alternatives: [{"rhs": "{r.name.upper()}"}]),
        ("heat", lambda alternatives: [{"rhs": "#look.feedback#"}]),
        ("heat", lambda alternatives: [{"rhs": "broken {o.name"}]),
        (
            "inventory.feedback",
            lambda alternatives: [{**alternatives[0], "rhs": "[{o.name | x(o:object)}]"}, {"rhs": ""}],
        ),
        ("overview(o)", lambda alternatives: [{"rhs": "{o.indefinite} {o.type}"}]),
        ("clean", lambda alternatives: [{"rhs": "a\ttab"}]),
    ],
)
def test_other_rules_are_unsupported(rule: str, change) -> None:
    rules = small_rules()
    rules[rule] = change(rules[rule])
    with pytest.raises(UnsupportedGame, match="grammar"):
        compile_wording(split_task(small_grammar(rules))[0], with_help=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pull {o} out of {r}", "pull {o}"),
        ("heat {o} with {r}", "clean {o} with {r}"),
        ("action SliceObject", "action CarveObject"),
        ("template :: ", "template = "),
        ('feedback :: "#toggle#"', 'feedback :: "a click"'),
        ('grammar :: """', 'grammar :: """ nonsense'),
        (
            "}\n",
            "",
        ),
    ],
)
def test_other_actions_are_unsupported(old: str, new: str) -> None:
    grammar = split_task(small_grammar())[0]
    assert old in grammar
    with pytest.raises(UnsupportedGame):
        compile_wording(grammar.replace(old, new), with_help=True)


@pytest.mark.parametrize("task", ["put a #mug# down", "say {o.name}", "wait; then go", "one\ttwo"])
def test_a_task_with_markup_is_unsupported(task: str) -> None:
    rules = small_rules()
    rules["task"] = [{"rhs": task}]
    with pytest.raises(UnsupportedGame, match="task"):
        FastEngine(small_game(grammar=small_grammar(rules)))
