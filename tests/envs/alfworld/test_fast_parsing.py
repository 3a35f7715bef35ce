"""What the fast engine reads: PDDL expressions, domains, problems and goals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.envs.alfworld.fast import FastEngine, UnsupportedGame
from agentkit.envs.alfworld.fast.compile import display_names
from agentkit.envs.alfworld.fast.domain import recognise_domain
from agentkit.envs.alfworld.fast.expressions import parse_expression, parse_typed_list
from agentkit.envs.alfworld.fast.goal import parse_goal
from agentkit.envs.alfworld.fast.problem import parse_problem
from agentkit.envs.alfworld.world import GameFileError, Goal
from tests.envs.alfworld.fast_small_game import HEAT_GOAL, small_domain, small_game, small_problem

TOKENS = st.text("abcz_019-:=", min_size=1, max_size=5)
TREES = st.recursive(TOKENS, lambda children: st.lists(children, max_size=4), max_leaves=12)


def spell(tree: object) -> str:
    return f"({' '.join(map(spell, tree))})" if isinstance(tree, list) else str(tree)


@given(st.lists(TREES, max_size=4))
def test_expressions_survive_being_spelt_and_read(tree: list) -> None:
    assert parse_expression(spell(tree)) == tree


@pytest.mark.parametrize("text", ["", "name", "(and (or a)", ") (", "; (a)"])
def test_damaged_expressions_raise(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|never closed"):
        parse_expression(text)


def test_a_name_without_type_raises() -> None:
    with pytest.raises(ValueError, match="'c' has no type"):
        parse_typed_list(["a", "b", "-", "t", "c"])


@pytest.mark.parametrize("with_help", [True, False])
def test_the_known_domain_is_recognised(with_help: bool) -> None:
    domain = recognise_domain(small_domain(with_help))
    assert ("help" in domain.actions) == with_help
    assert domain.cleaner_types == {"sinktype", "sinkbasintype"}
    assert domain.heater_types == {"microwavetype"}
    assert domain.knife_types == {"knifetype", "butterknifetype"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("location, ?r", "location ?r", "'examineobject'"),
        ("(not (holdsany ?a))", "", "'pickupobject'"),
        ("(isclean ?o)", "(isclean ?o) (not (ishot ?o))", "'cleanobject'"),
        ("(:action openobject", "(:action pryobject", "'openobject'"),
        ("agent location receptacle", "agent location receptacle room", "types"),
        ("(:functions", "(:derived (a) (b)) (:functions", ":derived"),
        ("(define", "define", "cannot be parsed"),
    ],
)
def test_any_other_domain_is_unsupported(old: str, new: str, reason: str) -> None:
    domain = small_domain()
    assert old in domain
    with pytest.raises(UnsupportedGame, match=reason):
        recognise_domain(domain.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(:init", ":init", "cut short"),
        ("(:goal", "(:gaol", "gaol"),
        ("(:objects", "(:metric", r"no \(:objects"),
        ("- agent", "", "cannot be read|has no type|agent"),
        ("(openable fridge_bar_1)", "(openable cellar_bar_1)", "'cellar_bar_1'"),
        ("(openable fridge_bar_1)", "(openable mug_bar_1)", "'mug_bar_1' as receptacle"),
        ("(openable fridge_bar_1)", "(openable fridge_bar_1 shelf_bar_1)", "'openable'"),
        ("(isHot ?o)", "(isWarm ?o)", "goal is none of"),
        ("(isHot ?o)", "(isHot ?x)", "goal cannot be parsed"),
        ("unused", "ünused", "ASCII"),
    ],
)
def test_a_damaged_problem_is_an_error_that_names_the_file(old: str, new: str, reason: str) -> None:
    problem = small_problem()
    assert old in problem
    with pytest.raises((GameFileError, UnsupportedGame), match=reason) as caught:
        FastEngine(small_game(pddl_problem=problem.replace(old, new, 1)))
    assert caught.type is UnsupportedGame or "<game>" in str(caught.value)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ("(receptacleAtLocation shelf_bar_1 loc_bar_1)", "two places"),
        ("(objectType mug_bar_1 BowlType)", "two types"),
        ("(atLocation agent1 loc_bar_2)", "one place"),
        ("(holds agent1 mug_bar_1)", "one place"),
        ("(= (weight mug_bar_1) 2.5)", "more than facts"),
    ],
)
def test_a_problem_unlike_any_real_one_is_unsupported(facts: str, reason: str) -> None:
    with pytest.raises(UnsupportedGame, match=reason):
        FastEngine(small_game(pddl_problem=small_problem(facts=facts)))


def test_facts_leave_out_distances_and_keep_repetitions_harmless() -> None:
    problem = parse_problem(small_problem(facts="(pickupable mug_bar_1)"), "x")
    assert "distance" not in problem.facts
    assert "unused" in problem.types
    assert "unused" not in problem.entities
    engine = FastEngine(small_game(pddl_problem=small_problem(facts="(pickupable mug_bar_1)")))
    assert engine.turn == FastEngine(small_game()).turn


PLACE = "(exists (?r - receptacle) (exists (?o - object) (and {} (objectType ?o MugType) (receptacleType ?r ShelfType)"
TWO = """(and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 MugType)
 (receptacleType ?r ShelfType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))
 (objectType ?o2 MugType) (receptacleType ?r ShelfType) (inReceptacle ?o2 ?r)))))))"""
LIGHT = """(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot DeskLampType)
 (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
 (exists (?o - object ?a - agent) (and (objectType ?o MugType) (holds ?a ?o))))"""


def place(condition: str) -> str:
    return f"(and {PLACE.format(condition)} (inReceptacle ?o ?r)))))"


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (place(""), Goal("pick_and_place_simple", "mug", "shelf")),
        (HEAT_GOAL, Goal("pick_heat_then_place_in_recep", "mug", "shelf", change="heat")),
        (place("(cleanable ?o) (isClean ?o)"), Goal("pick_clean_then_place_in_recep", "mug", "shelf", change="clean")),
        (
            place("(coolable ?o) (isCool ?o) (sliceable ?o) (isSliced ?o)"),
            Goal("pick_cool_then_place_in_recep", "mug", "shelf", change="cool", sliced=True),
        ),
        (TWO, Goal("pick_two_obj_and_place", "mug", "shelf", count=2)),
        (LIGHT, Goal("look_at_obj_in_light", "mug", light_type="desklamp")),
    ],
)
def test_goals_of_every_task_type(text: str, goal: Goal) -> None:
    assert parse_goal(parse_expression(text.lower()), "x") == goal


@pytest.mark.parametrize(
    "text",
    [
        "(and)",
        "(holds agent1 mug)",
        place("(isHot ?o)"),  # without (heatable ?o)
        place("(heatable ?o) (isHot ?o) (cleanable ?o) (isClean ?o)"),
        TWO.replace("(not (= ?o1 ?o2))", ""),
        LIGHT.replace("(toggleable ?ot)", ""),
        "(and (exists (?r - room) (clean ?r)))",
    ],
)
def test_any_other_goal_is_an_error_that_names_the_file(text: str) -> None:
    with pytest.raises(GameFileError, match="somewhere: the PDDL goal"):
        parse_goal(parse_expression(text.lower()), "somewhere")


def test_names_are_numbered_downwards_and_basins_are_kinds_of_their_own() -> None:
    identifiers = ["mug_bar_2", "mug_bar_1", "sink_bar_1", "sink_bar_1_bar_sinkbasin", "agent1", "a_minus_b"]
    names = display_names(identifiers)
    assert names == {
        "mug_bar_1": "mug 2",
        "mug_bar_2": "mug 1",
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "agent1": "agent1 ",
        "a_minus_b": "a-b ",
    }


def test_a_goal_out_of_reach_is_unsupported() -> None:
    problem = small_problem(HEAT_GOAL.replace("MugType", "KeyChainType"))
    with pytest.raises(UnsupportedGame, match="never be reached"):
        FastEngine(small_game(pddl_problem=problem))
