"""`WebShopEnv`: the Gymnasium interface, the contract, goals, splits, snapshots, ground truth and the expert."""

import copy
import pickle
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from agentkit.envs.contract import contract_violations
from agentkit.envs.webshop import WebShopEnv
from agentkit.testing import check_text_env

ID = "agentkit-test/WebShop-v0"


@pytest.fixture(scope="module", autouse=True)
def _registered():
    gym.register(ID, entry_point="agentkit.envs.webshop:WebShopEnv", order_enforce=False, disable_env_checker=True)
    yield
    del gym.registry[ID]


def _play(env: WebShopEnv, *actions: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    outcome: tuple[str, float, bool, bool, dict[str, Any]] = ("", 0.0, False, False, {})
    for action in actions:
        outcome = env.step(action)
    return outcome


def _play_expert(env: WebShopEnv) -> tuple[list[str], list[dict[str, Any]]]:
    actions, infos, ended = [], [], False
    while not ended:
        actions.append(env.expert_action())
        *_, terminated, truncated, info = env.step(actions[-1])
        infos.append(info)
        ended = terminated or truncated
    return actions, infos


def test_it_follows_the_text_environment_contract() -> None:
    check_text_env(WebShopEnv("generated", nouns="rules", suggested_queries=3))


def test_gymnasiums_checker_passes(shop: WebShopEnv) -> None:
    check_env(shop, skip_render_check=True)


def test_make_from_a_spec_and_vectors() -> None:
    env = gym.make(ID, data="generated", nouns="rules", suggested_queries=2)
    again = gym.make(env.spec)
    assert env.reset(seed=5)[0] == again.reset(seed=5)[0]
    vector = gym.vector.SyncVectorEnv([lambda: gym.make(ID, data="generated", nouns="rules")] * 3)
    _, infos = vector.reset(seed=7)
    assert list(infos["task_id"]) == ["7", "8", "9"]
    observations, *_ = vector.step(("search[tea]", "search[lamp]", "nothing"))
    assert "Page 1" in observations[0]
    vector.close()


def test_info_is_the_contract_at_every_step(shop: WebShopEnv) -> None:
    _, info = shop.reset(seed=3)
    assert contract_violations(info) == []
    for _ in range(6):
        if info["won"]:
            break
        *_, info = shop.step(shop.expert_action())
        assert contract_violations(info) == []
        assert set(info) >= {"score", "url", "clickables", "has_search_bar", "reward_parts", "oracle_role"}


def test_seeds_walk_through_the_test_goals(shop: WebShopEnv) -> None:
    assert [shop.reset(seed=seed)[1]["task_id"] for seed in (0, 1, 499, 500)] == ["0", "1", "499", "0"]
    train = WebShopEnv("generated", nouns="rules", split="train")
    assert train.reset(seed=0)[1]["task_id"] == "500"
    drawn = [train.reset()[1]["task_id"] for _ in range(30)]
    assert len(set(drawn)) > 5
    assert all(500 <= int(name) < len(train.goals) for name in drawn)


def test_the_same_seed_draws_the_same_goals(shop: WebShopEnv) -> None:
    def draws() -> list[str]:
        shop.reset(seed=11)
        return [shop.reset()[1]["task_id"] for _ in range(5)]

    assert draws() == draws()


def test_goal_index_reaches_all_splits(shop: WebShopEnv) -> None:
    last = len(shop.goals) - 1
    _, info = shop.reset(options={"goal_index": last})
    assert info["task_id"] == str(last)
    assert info["goal"] == shop.goals[last].instruction_text
    assert info["task_type"] == shop.goals[last].category
    assert shop.reset(options={"task_id": info["task_id"]})[1]["goal"] == info["goal"]


def test_a_goal_of_ones_own(shop: WebShopEnv) -> None:
    goal = {**shop.goals[8].to_dict(), "instruction_text": "something to read by", "weight": 1.0}
    observation, info = shop.reset(options={"goal": goal})
    assert "something to read by" in observation
    assert info["task_id"] == f"custom-{goal['asin']}"
    assert _play_expert(shop)[1][-1]["won"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal_index": -1}, "goal_index.* 0 … "),
        ({"goal_index": 10**9}, "goal_index.*1000000000"),
        ({"goal_index": "3"}, "whole number, got '3'"),
        ({"goal_index": True}, "whole number, got True"),
        ({"task": 3}, "unknown keys.*task"),
        ({"task_id": "custom-G1"}, "task_id.*'custom-G1'"),
        ({"task_id": "999999999"}, "goal_index.*999999999"),
        ({"goal": "shoes"}, "must be a dict"),
        ({"goal": {"asin": "A"}}, "instruction_text"),
        ({"goal": {"asin": "A", "instruction_text": "x", "attributes": []}}, "attributes"),
        ({"goal": {"asin": "A", "instruction_text": "x", "attributes": ["a"], "price_upper": 0}}, "price_upper"),
        ({"goal": {"asin": "A", "instruction_text": "x", "attributes": ["a"], "goal_options": 3}}, "goal_options"),
    ],
)
def test_wrong_options_have_one_clear_error(shop: WebShopEnv, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shop.reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "valid"}, "split.*'valid'"),
        ({"observation_mode": "html"}, "observation_mode.*'html'"),
        ({"observation_mode": ["text"]}, "observation_mode"),
        ({"num_products": 0}, "num_products.*0"),
        ({"num_products": "all"}, "num_products.*'all'"),
        ({"max_steps": 0}, "max_steps.*0"),
        ({"suggested_queries": -1}, "suggested_queries.*-1"),
        ({"search": "lucene"}, "search.*'lucene'"),
        ({"prices": {"A": "cheap"}}, "prices\\['A'\\].*'cheap'"),
        ({"prices": [1]}, "prices"),
        ({"nouns": "nltk"}, "nouns.*'nltk'"),
        ({"render_mode": "human"}, "render_mode.*'human'"),
    ],
)
def test_wrong_arguments_have_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WebShopEnv("generated", **{"nouns": "rules", **arguments})


def test_steps_out_of_order(shop: WebShopEnv) -> None:
    with pytest.raises(ResetNeeded):
        shop.step("search[x]")
    with pytest.raises(ResetNeeded):
        shop.snapshot()
    shop.reset(seed=0)
    with pytest.raises(TypeError, match="action must be a str"):
        shop.step(3)  # pyright: ignore[reportArgumentType]
    _play_expert(shop)
    with pytest.raises(ResetNeeded, match="bought"):
        shop.step("search[x]")


def test_truncation_after_max_steps() -> None:
    env = WebShopEnv("generated", nouns="rules", max_steps=2)
    env.reset(seed=0)
    assert [env.step("look")[3] for _ in range(2)] == [False, True]
    with pytest.raises(ResetNeeded, match="its 2 steps"):
        env.step("look")


def test_no_ops_are_marked(shop: WebShopEnv) -> None:
    shop.reset(seed=0)
    actions = [
        "click[search]",
        "click[buy now]",
        "search[tea]",
        "search[tea]",
        "SEARCH[tea]",
        "click[next >]",
        "click[no]",
    ]
    assert [shop.step(action)[4]["state_changed"] for action in actions] == [
        False, False, True, False, False, True, False,
    ]  # fmt: skip


def test_letter_case_within_the_brackets_does_not_matter(shop: WebShopEnv) -> None:
    shop.reset(seed=0)
    upper = _play(shop, "search[TEA]", "click[NEXT >]")
    shop.reset(seed=0)
    assert _play(shop, "search[tea]", "click[next >]")[0] == upper[0]


def test_every_admissible_action_changes_something() -> None:
    env = WebShopEnv("generated", nouns="rules", suggested_queries=3, max_steps=None)
    _, info = env.reset(seed=4)
    for page in range(5):
        start = env.snapshot()
        for action in info["admissible_actions"]:
            env.restore(start)
            assert env.step(action)[4]["state_changed"], action
        env.restore(start)
        *_, info = env.step(info["admissible_actions"][page % 2 + 1 if page else 0])


def test_suggested_queries_are_read_off_the_instruction() -> None:
    env = WebShopEnv("generated", nouns="rules", suggested_queries=4)
    _, info = env.reset(seed=2)
    queries = info["admissible_actions"]
    assert 2 <= len(queries) <= 4
    words = set(info["goal"].lower().replace(",", " ").replace(":", " ").split())
    for query in queries:
        assert query.startswith("search[")
        assert set(query[7:-1].replace(",", " ").replace(":", " ").split()) <= words
    plain = WebShopEnv("generated", nouns="rules")
    assert plain.reset(seed=2)[1]["admissible_actions"] == ("search[<your query>]",)


def test_snapshot_and_restore_branch_an_episode(shop: WebShopEnv) -> None:
    shop.reset(seed=6)
    shop.step(shop.expert_action())
    snapshot = pickle.loads(pickle.dumps(shop.snapshot()))
    first = _play_expert(shop)
    observation, info = shop.restore(snapshot)
    assert "Page 1" in observation
    assert not info["won"]
    assert _play_expert(shop) == first
    other = WebShopEnv("generated", nouns="rules")
    other.restore(snapshot)
    assert _play_expert(other) == first


def test_a_snapshot_of_another_shop_is_refused(shop: WebShopEnv, tmp_path) -> None:
    shop.reset(seed=0)
    from agentkit.envs.webshop.env import Snapshot

    foreign = Snapshot(**{name: getattr(shop.snapshot(), name) for name in Snapshot.__slots__ if name[0] != "_"} | {
        "catalogue": "files-1000-x"
    })  # fmt: skip
    with pytest.raises(ValueError, match="files-1000-x"):
        shop.restore(foreign)
    with pytest.raises(ValueError, match="dict"):
        shop.restore({})  # pyright: ignore[reportArgumentType]


def test_the_environment_pickles_and_copies_in_mid_episode(shop: WebShopEnv) -> None:
    shop.reset(seed=9)
    shop.step(shop.expert_action())
    for twin in (pickle.loads(pickle.dumps(shop)), copy.deepcopy(shop)):
        assert twin.session == shop.session
        assert twin.catalogue is shop.catalogue
        assert _play_expert(twin)[1][-1]["won"]
    assert not shop.session.done


def test_environments_share_one_catalogue(shop: WebShopEnv) -> None:
    assert WebShopEnv("generated", nouns="rules", split="all").catalogue is shop.catalogue


def test_rendering(shop: WebShopEnv) -> None:
    env = WebShopEnv("generated", nouns="rules", render_mode="ansi")
    env.reset(seed=0)
    assert "[button] Search [button_]" in (env.render() or "")
    shop.reset(seed=0)
    assert shop.render() is None


def test_a_plugged_in_engine_is_asked_and_unknown_ids_are_left_out() -> None:
    asked = []

    def search(query: str, k: int) -> list[str]:
        asked.append((query, k))
        return ["G000000003", "no such id", "G000000001"]

    env = WebShopEnv("generated", nouns="rules", search=search)
    env.reset(seed=0)
    *_, info = env.step("search[Red Lamp]")
    assert asked == [("red lamp", 50)]
    assert info["clickables"] == ("back to search", "g000000003", "g000000001")
    broken = WebShopEnv("generated", nouns="rules", search=lambda query, k: [1, 2])  # pyright: ignore
    broken.reset(seed=0)
    with pytest.raises(TypeError, match="product ids"):
        broken.step("search[x]")


def test_special_searches(shop: WebShopEnv) -> None:
    shop.reset(seed=0)
    products = list(shop.catalogue.products)
    for action, expected in (
        ("search[<c> garden]", [p.id for p in products if p.category == "garden"]),
        ("search[<q> desk lamps]", [p.id for p in products if p.query == "desk lamps"]),
        ("search[<a> easy install]", [p.id for p in products if "easy install" in p.attributes]),
    ):
        observation, *_, info = shop.step(action)
        assert f"Total results: {len(expected)}" in observation
        assert list(info["clickables"][2:]) == [name.lower() for name in expected[:10]]
    random_page = shop.step("search[<r>]")
    assert "Total results: 50" in random_page[0]
    assert shop.step("search[<r>]")[0] == random_page[0]
    for action in ("search[<c>]", "search[<a>]", "search[<q>]"):
        assert "Total results: 0" in shop.step(action)[0]


def test_given_prices_take_the_place_of_drawn_ones() -> None:
    env = WebShopEnv("generated", nouns="rules", prices={"G000000007": 123.5})
    product = env.catalogue.products.get("G000000007")
    assert product is not None
    assert env.catalogue.price(product) == 123.5
    drawn = [WebShopEnv("generated", nouns="rules", price_seed=seed).catalogue for seed in (0, 0, 1)]
    ranged = next(p for p in drawn[0].products if len(p.prices) == 2)
    prices = [catalogue.price(ranged) for catalogue in drawn]
    assert prices[0] == prices[1] != prices[2]
    assert all(ranged.prices[0] <= price <= ranged.prices[1] for price in prices)


def test_milestones_and_roles_of_the_expert(shop: WebShopEnv) -> None:
    shop.reset(options={"goal_index": 1})
    goal = shop.goals[1]
    _, infos = _play_expert(shop)
    milestones = [name for info in infos for name in info["milestones"]]
    options = [f"choose {name}: {value}" for name, value in goal.goal_options]
    assert milestones == [f"open {goal.asin}", *options, f"buy {goal.asin}"]
    assert infos[0]["oracle_role"] == "exploration"
    assert {info["oracle_role"] for info in infos[1:]} == {"decisive"}
    assert infos[-1]["won"]
    assert infos[-1]["score"] == 1.0
    assert infos[-1]["reward_parts"]["r_price"] is True


def test_roles_of_mistakes(shop: WebShopEnv) -> None:
    shop.reset(options={"goal_index": 1})
    search, open_target, choose = (_step_expert(shop) for _ in range(3))
    roles = {}
    for name, action in (
        ("no-op", "click[nothing]"),
        ("look at the description", "click[description]"),
        ("come back", "click[< prev]"),
        ("look again", "click[description]"),
        ("leave the target", "click[back to search]"),
    ):
        roles[name] = shop.step(action)[4]["oracle_role"]
    assert roles == {
        "no-op": "no-progress",
        "look at the description": "exploration",
        "come back": "no-progress",
        "look again": "no-progress",
        "leave the target": "regression",
    }
    regained = _play(shop, search, open_target)[4]
    assert (regained["oracle_role"], regained["milestones"]) == ("decisive", ())
    bought = shop.step("click[buy now]")[4]
    assert (bought["oracle_role"], bought["won"]) == ("regression", False)
    assert choose.startswith("click[")


def _step_expert(env: WebShopEnv) -> str:
    action = env.expert_action()
    env.step(action)
    return action


@pytest.mark.parametrize("human", [False, True])
def test_the_expert_wins_every_made_up_goal(human: bool) -> None:
    env = WebShopEnv("generated", nouns="rules", human_goals=human)
    for seed in range(0, 300, 7):
        env.reset(seed=seed)
        assert _play_expert(env)[1][-1]["won"], seed


def test_the_expert_finds_back_from_anywhere(shop: WebShopEnv) -> None:
    env = WebShopEnv("generated", nouns="rules", max_steps=None)
    env.reset(seed=12)
    _play(env, "search[tea]", "click[next >]", "click[" + env.get_available_actions()["clickables"][-1] + "]")
    env.step("click[features]")
    assert _play_expert(env)[1][-1]["won"]
