"""Any action, query, product or data file: the original's behaviour or one clear error, never a crash."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.envs.webshop import GeneratedSource, WebShopDataError, WebShopEnv
from agentkit.envs.webshop.pages import render_rich, render_text
from agentkit.envs.webshop.products import parse_options, parse_prices, product_from_record
from agentkit.envs.webshop.session import Shop, act, clickables, start_session
from agentkit.envs.webshop.sources import iterate_array
from agentkit.envs.webshop.store import FORMAT, ProductStore, open_store

_WORDS = st.sampled_from(
    ["search[", "click[", "]", "[", "tea", "buy now", "< prev", "next >", "back to search", "features", "g000000001",
     "<r>", "<a>", "<c>", "\n", "\0", "&amp;", "<b>", "(?i)", ".*", "\\", "ſ", "İ", "👍🏽", "item_page",
     "search_results"]
)  # fmt: skip
_ACTIONS = st.one_of(
    st.text(max_size=40),
    st.lists(_WORDS, max_size=6).map("".join),
    st.tuples(st.sampled_from(["search", "click"]), st.text(min_size=1, max_size=30)).map(lambda p: f"{p[0]}[{p[1]}]"),
    st.integers(0, 200),  # the n-th admissible action
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_ACTIONS, max_size=12), st.sampled_from(["text", "text_rich"]))
def test_any_actions(actions: list[Any], mode: str) -> None:
    env = WebShopEnv("generated", nouns="rules", observation_mode=mode, max_steps=None, show_attrs=True)
    observation, info = env.reset(seed=1)
    for action in actions:
        if isinstance(action, int):
            action = info["admissible_actions"][action % len(info["admissible_actions"])]
        before = observation
        observation, reward, terminated, truncated, info = env.step(action)
        assert 0.0 <= reward <= 1.0
        assert not truncated
        assert info["state_changed"] or observation == before
        if terminated:
            break
        assert env.expert_action().startswith(("search[", "click["))


def test_huge_queries() -> None:
    env = WebShopEnv("generated", nouns="rules")
    env.reset(seed=0)
    for query in ("tea " * 20_000, "x" * 200_000, "[" * 5_000, "".join(map(chr, range(32, 3_000)))):
        observation, *_ = env.step(f"search[{query}]")
        assert "Total results" in observation or "Search" in observation


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = ["full_description", "small_description", "pricing", "category", "query", "product_category",
           "customization_options"]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=30), st.dictionaries(st.sampled_from(_FIELDS), _JSON), st.lists(st.integers(0, 99), max_size=6))
def test_any_product(title: str, fields: dict[str, Any], clicks: list[int]) -> None:
    product = product_from_record({"asin": "P1", "name": title, **fields}, where="here")
    assert all(price >= 0 for price in product.prices)
    shop = Shop(lambda keywords: ["P1"], {"P1": product}.get, lambda product, options: (0.5, {}), True)
    goal = WebShopEnv("generated", nouns="rules").goals[0]
    session = act(start_session("s", goal), "search[x]", {}, shop)
    for click in [1, *clicks]:
        targets = clickables(session, shop)
        assert render_text(session, shop) is not None
        assert render_rich(session, shop).endswith("\n")
        if targets:
            session = act(session, f"click[{list(targets)[click % len(targets)]}]", targets, shop)


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        (None, ((100.0,), "$100.0")),
        ("N/A", ((100.0,), "$100.0")),
        ("$", ((100.0,), "$100.0")),
        ("$1.2.3", ((100.0,), "$100.0")),
        ("$1,299.50", ((1299.5,), "$1299.5")),
        ("$5$9$12", ((5.0, 9.0), "$5.0 to $9.0")),
    ],
)
def test_prices(pricing: Any, expected: Any) -> None:
    assert parse_prices(pricing) == expected


def test_options() -> None:
    raw = {"Color": [{"value": " Red/Blue "}, {"image": "x"}], "Size": None}
    assert parse_options(raw) == {"color": ("red | blue",)}
    assert parse_options("") == parse_options(None) == {}


def test_titles_with_markup_stand_as_they_are() -> None:
    title = "<b>Tea</b> &amp; 'x' [SEP] .* \\ {{ 7*7 }}"
    product = product_from_record({"asin": "P1", "name": title, "small_description": ["", " ", "\n"]}, where="here")
    shop = Shop(lambda keywords: ["P1"], {"P1": product}.get, lambda product, options: (0.0, {}))
    goal = WebShopEnv("generated", nouns="rules").goals[0]
    results = act(start_session("s", goal), "search[(.*]", {}, shop)
    assert title in render_text(results, shop)
    item = act(results, "click[p1]", clickables(results, shop), shop)
    features = act(item, "click[features]", clickables(item, shop), shop)
    # Empty texts are one blank after the list's own blank; a text with a line end alone is no text at all.
    assert render_rich(features, shop).split("[button] < Prev [button_]\n")[1] == " \n \n"


def test_a_value_that_cannot_be_said_is_not_admissible() -> None:
    assert "click[a[b]" not in _admissible(["a[b", "fine", ""])
    assert _admissible(["a[b", "fine", "", "search", "a\nb", "a]"]) == ("click[fine]", "click[a]]")


def _admissible(values: list[str]) -> tuple[str, ...]:
    env = WebShopEnv("generated", nouns="rules")
    env.reset(seed=0)
    return env._admissible(env.step("search[tea]") and env.session, values)


def _write(folder: Path, products: Any, attributes: Any = None) -> Path:
    for name, data in (("items_shuffle_1000.json", products), ("items_ins_v2_1000.json", attributes)):
        if data is not None:
            text = data if isinstance(data, str) else json.dumps(data)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


_GOOD = {"asin": "P1", "name": "Red Tea"}


@pytest.mark.parametrize(
    ("products", "attributes", "message"),
    [
        (None, None, "no items_shuffle_1000.json or items_shuffle.json in"),
        ([_GOOD], None, "items_ins_v2_1000.json is missing"),
        ([], {}, "no product to sell"),
        ("{}", {}, "must hold a JSON array"),
        ("", {}, "must hold a JSON array"),
        ('[{"asin": "P1", "na', {}, "not JSON, or cut off"),
        ('[{"asin": "P1", "name": "x"}', {}, "not JSON, or cut off"),
        ("[tea]", {}, "not JSON, or cut off"),
        ([_GOOD, {"name": "x"}], {}, "product 1.*lacks 'asin'"),
        ([{"asin": "P1"}], {}, "product 0.*lacks 'name'"),
        (["tea"], {}, "product 0.*must be a JSON object"),
        ([_GOOD], "[1]", "items_ins_v2_1000.json.*object"),
        ([_GOOD], "{", "items_ins_v2_1000.json: not JSON"),
    ],
)
def test_broken_data_has_one_clear_error(tmp_path: Path, products: Any, attributes: Any, message: str) -> None:
    _write(tmp_path, products, attributes)
    with pytest.raises(WebShopDataError, match=message):
        WebShopEnv(tmp_path, nouns="rules")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WebShopDataError, match="nowhere"):
        WebShopEnv(tmp_path / "nowhere", nouns="rules")


def test_products_without_anything_can_be_bought(tmp_path: Path) -> None:
    other = {"asin": "P2", "name": "Blue Tea", "customization_options": {"Size": None}, "pricing": None}
    attributes = {"P2": {"attributes": ["hot"], "instruction": "find hot tea", "instruction_attributes": ["hot"]}}
    skipped = [{"asin": "nan", "name": "x"}, {"asin": "much too long an id", "name": "x"}, {**_GOOD, "name": "again"}]
    env = WebShopEnv(_write(tmp_path, [_GOOD, *skipped, other], attributes), nouns="rules")
    assert len(env.catalogue.products) == 2
    assert len(env.goals) == 1
    env.reset(seed=0)
    for action in (
        "search[tea]",
        "click[p1]",
        "click[description]",
        "click[< prev]",
        "click[features]",
        "click[< prev]",
    ):
        env.step(action)
    _, reward, terminated, *_ = env.step("click[buy now]")
    assert terminated
    assert reward < 1.0


def test_data_without_goals_say_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 goals"):
        WebShopEnv(_write(tmp_path, [_GOOD], {}), nouns="rules")
    attributes = {"P1": {"instruction": "x", "instruction_attributes": ["y"]}}
    with pytest.raises(ValueError, match=r"'train' has no goals.*1 goals"):
        WebShopEnv(_write(tmp_path, [_GOOD], attributes), nouns="rules", split="train")


def test_replaced_data_are_read_again(tmp_path: Path) -> None:
    attributes = {"P1": {"instruction": "x", "instruction_attributes": ["y"]}}
    before = WebShopEnv(_write(tmp_path, [_GOOD], attributes), nouns="rules")
    after = WebShopEnv(_write(tmp_path, [{**_GOOD, "name": "A Longer Red Tea"}], attributes), nouns="rules")
    titles = [env.catalogue.products.row(0).title for env in (before, after)]
    assert titles == ["Red Tea", "A Longer Red Tea"]


@given(st.lists(_JSON.map(lambda value: {"value": value}), max_size=8), st.integers(1, 7))
def test_arrays_are_read_in_pieces(elements: list[Any], size: int) -> None:
    from agentkit.envs.webshop.sources import _elements

    text = json.dumps(elements, indent=1, ensure_ascii=False)
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(_elements(pieces, Path("x"))) == json.loads(text)


def test_a_file_is_read_as_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}, {"b": "ü"}]', encoding="utf-8")
    assert list(iterate_array(path)) == [{"a": 1}, {"b": "ü"}]


def test_an_unwritable_cache_falls_back_to_a_temporary_one(tmp_path: Path, monkeypatch, caplog) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("AGENTKIT_CACHE", str(blocker))
    attributes = {"P1": {"instruction": "x", "instruction_attributes": ["y"]}}
    env = WebShopEnv(_write(tmp_path, [_GOOD], attributes), nouns="rules")
    assert "not cached" in caplog.text
    env.reset(seed=0)
    assert "Red Tea" in env.step("search[tea]")[0]


def test_reviews_and_attributes_pages(tmp_path: Path) -> None:
    attributes = {"P1": {"attributes": ["hot"], "instruction": "x", "instruction_attributes": ["hot"]}}
    reviews = [
        {"asin": "P1", "average_rating": 4.5, "reviews": [{"title": "Good", "stars": "5", "review": "I like it"}]}
    ]
    (tmp_path / "reviews.json").write_text(json.dumps(reviews))
    env = WebShopEnv(_write(tmp_path, [_GOOD], attributes), nouns="rules", show_attrs=True)
    env.reset(seed=0)
    env.step("search[tea]")
    assert "Rating: 4.5" in env.step("click[p1]")[0]
    assert env.step("click[reviews]")[0].endswith('[SEP] "Good" [SEP] 5 [SEP] I like it')
    env.step("click[< prev]")
    assert "[SEP] hot" in env.step("click[attributes]")[0]


def test_an_unfinished_build_is_replaced_and_a_finished_one_kept(tmp_path: Path) -> None:
    source = GeneratedSource(20)
    target = tmp_path / "webshop" / f"v{FORMAT}-{source.key}"
    (target / "index").mkdir(parents=True)
    assert open_store(source, tmp_path) == target
    assert (target / "done").exists()
    before = (target / "products.jsonl").stat().st_mtime_ns
    assert open_store(source, tmp_path) == target
    assert (target / "products.jsonl").stat().st_mtime_ns == before
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_more_generated_products_only_add_to_them(tmp_path: Path) -> None:
    few, many = (list(GeneratedSource(count).products()) for count in (15, 40))
    assert many[:15] == few
    assert list(GeneratedSource(15, seed=1).products()) != few
    stored = ProductStore(open_store(GeneratedSource(40), tmp_path))
    assert list(stored) == many
    assert stored.get("G000000039") == many[39]
    assert stored.get("G000000040") is None is stored.get("") is stored.get("ü" * 30)


def test_real_subsets(webshop_data: Path) -> None:
    small, whole = (WebShopEnv(webshop_data, num_products=count, nouns="rules") for count in (100, 1000))
    assert [len(env.catalogue.products) for env in (small, whole)] == [100, 1000]
    assert 0 < len(small.goals) < len(whole.goals)
    human = WebShopEnv(webshop_data, human_goals=True, nouns="rules")
    assert len(human.goals) == 13
    for seed in range(13):
        human.reset(seed=seed)
        info: dict[str, Any] = {}
        while not info.get("won"):
            *_, truncated, info = human.step(human.expert_action())
            assert not truncated
