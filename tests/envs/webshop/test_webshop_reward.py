"""The reward, against the original's recorded ones and by hand."""

import warnings
from pathlib import Path

import pytest

from agentkit.envs.webshop import load_catalogue
from agentkit.envs.webshop.goals import Goal, goal_from_dict
from agentkit.envs.webshop.nouns import RuleNouns, SpacyNouns, installed_spacy_model, noun_source
from agentkit.envs.webshop.products import Product
from agentkit.envs.webshop.reward import fuzzy_match, normalize_color, option_matches, purchase_reward, type_reward

NOUNS = RuleNouns()


def _rewards(folder: Path, recorded, nouns):
    """(ours, the original's) reward and parts of every recorded purchase."""
    catalogue = load_catalogue(str(folder), nouns="rules")
    for case in recorded("rewards.json.xz"):
        goal = goal_from_dict({**case["goal"], "instruction_text": ""})
        product = catalogue.products.get(case["asin"])
        assert product is not None
        ours = purchase_reward(product, goal, price=case["price"], options=case["options"], nouns=nouns)
        yield ours, (case["reward"], case["parts"])


def test_recorded_rewards_are_equal_with_spacy(webshop_data: Path, recorded) -> None:
    model = installed_spacy_model()
    if model is None:
        pytest.skip("spaCy's en_core_web_sm is not installed")
    nouns = SpacyNouns(model)
    titles = sorted({product.title for product in load_catalogue(str(webshop_data), nouns="rules").products})
    found = dict(zip(titles, nouns.pipe(titles), strict=True))
    pairs = list(_rewards(webshop_data, recorded, found.__getitem__))
    assert len(pairs) == 2000
    assert all(ours == theirs for ours, theirs in pairs)


def test_recorded_rewards_with_rules_differ_in_the_type_only_and_in_one_percent(webshop_data: Path, recorded) -> None:
    same, pairs = 0, list(_rewards(webshop_data, recorded, NOUNS))
    for (_, ours), (_, theirs) in pairs:
        kept = set(theirs) - {"r_type", "title_score"}
        assert set(ours) == set(theirs)
        assert {name: ours[name] for name in kept} == {name: theirs[name] for name in kept}
        same += ours["r_type"] == theirs["r_type"]
    print(f"type rewards by rules equal the original's on {same} of {len(pairs)} purchases")
    assert same >= 0.99 * len(pairs)


def _product(**changes) -> Product:
    fields = {
        "id": "P1",
        "title": "Acme Cotton Shirt",
        "query": "shirts",
        "product_category": "Clothing › Men › Shirts",
        "attributes": ("machine wash",),
        "bullets": ("Soft collar",),
        "description": "Dries quickly.",
    }
    return Product(**{**fields, **changes})


def _goal(**changes) -> Goal:
    fields = {
        "asin": "P1",
        "instruction_text": "find a shirt",
        "attributes": ("machine wash", "soft collar"),
        "goal_options": (("color", "navy blue"), ("size", "x-large")),
        "price_upper": 50.0,
        "query": "shirts",
        "name": "Acme Cotton Shirt",
        "product_category": "Clothing › Men › Shirts",
    }
    return Goal(**{**fields, **changes})


def test_perfect_purchase_has_reward_one() -> None:
    options = {"color": "navy blue", "size": "x-large"}
    reward, parts = purchase_reward(_product(), _goal(), price=50.0, options=options, nouns=NOUNS)
    assert reward == 1.0
    assert parts["r_att"] == parts["r_option"] == parts["r_type"] == 1.0
    assert parts["w_att"] + parts["w_option"] + parts["w_price"] == pytest.approx(1.0)


def test_each_missing_part_costs_its_weight() -> None:
    options = {"color": "navy blue", "size": "x-large"}
    dear, _ = purchase_reward(_product(), _goal(), price=50.01, options=options, nouns=NOUNS)
    plain, _ = purchase_reward(_product(attributes=()), _goal(), price=1.0, options=options, nouns=NOUNS)
    bare, _ = purchase_reward(_product(), _goal(), price=1.0, options={"color": "navy blue"}, nouns=NOUNS)
    assert dear == plain == bare == pytest.approx(4 / 5)


def test_a_goal_without_options_has_no_option_part() -> None:
    reward, parts = purchase_reward(_product(), _goal(goal_options=()), price=1.0, options={}, nouns=NOUNS)
    assert reward == 1.0
    assert "r_option" not in parts


@pytest.mark.parametrize(
    ("title", "query", "path", "expected"),
    [
        ("Acme Cotton Shirt", "other", "x", 1.0),  # every noun in common
        ("Plain Lamp", "shirts", "x", 0.0),  # no noun in common, whatever else matches
        ("Acme Lamp", "other", "x", 1.0),  # 1 of 3 nouns
        ("Acme Lamp", "shirts", "Clothing › Men › Hats", 1.0),
    ],
)
def test_type_reward(title: str, query: str, path: str, expected: float) -> None:
    product = _product(title=title, query=query, product_category=path)
    assert type_reward(product, _goal(), NOUNS)["r_type"] == expected


def test_type_reward_of_a_slight_match_is_a_half_or_a_tenth() -> None:
    words = [f"Word{chr(65 + i)}" for i in range(20)]
    goal = _goal(name=" ".join(words))
    a_tenth = type_reward(_product(title=words[0], query="other", product_category="x"), goal, str.split)
    a_half = type_reward(_product(title=" ".join(words[:3]), query="other", product_category="x"), goal, str.split)
    assert (a_tenth["r_type"], a_half["r_type"]) == (0.1, 0.5)
    assert type_reward(_product(), _goal(name=""), str.split)["title_score"] == 0.2


def test_colors_and_sizes_compare_as_in_the_original() -> None:
    assert normalize_color("12 pack tank top") == "tan"
    assert option_matches(("size", "x-large"), "large")
    assert not option_matches(("size", "large"), "x-large")
    assert not option_matches(("color", "12 pack tank top"), "12 pack tank top")
    assert option_matches(("", "dark blue"), "sky blue")
    assert fuzzy_match("tea tree oil", "tea tree")
    assert not fuzzy_match("tea", "coffee")


def test_the_choice_of_nouns_is_never_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentkit.envs.webshop import nouns

    monkeypatch.setattr(nouns, "installed_spacy_model", lambda: None)
    nouns._warn_about_rules.cache_clear()
    with pytest.warns(UserWarning, match="spacy download"):
        assert noun_source("auto").name.startswith("rules")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noun_source("rules")
    with pytest.raises(ImportError, match="en_core_web_sm"):
        noun_source("spacy")
    with pytest.raises(ValueError, match="'nltk'"):
        noun_source("nltk")
