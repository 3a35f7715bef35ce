"""The recorded episodes of the original text environment, replayed: everything must be equal."""

from pathlib import Path
from typing import Any

import pytest

from agentkit.envs.webshop import WebShopEnv
from agentkit.envs.webshop.nouns import installed_spacy_model


class RecordedSearch:
    """Serves the rankings that the original's search engine gave in an episode."""

    def __init__(self) -> None:
        self.rankings: dict[str, list[str]] = {}

    def learn(self, steps: list[dict[str, Any]]) -> None:
        searches = (step for step in steps if step.get("ranking") is not None)
        self.rankings = {step["action"][len("search[") : -1].lower(): step["ranking"] for step in searches}

    def __call__(self, query: str, k: int) -> list[str]:
        return self.rankings[query][:k]


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_recorded_episodes_replay_equal(webshop_data: Path, recorded, mode: str) -> None:
    """With spaCy's model; without it, the type reward may differ (on 1 % of purchases), and the reward it makes."""
    episodes, steps, exact = recorded("transcripts.json.xz"), 0, installed_spacy_model() is not None
    nouns = "spacy" if exact else "rules"
    for episode in episodes:
        search = RecordedSearch()
        search.learn(episode["steps"])
        env = WebShopEnv(
            webshop_data, search=search, prices=episode["prices"], observation_mode=mode, nouns=nouns, max_steps=None
        )
        options = {"goal_index": episode["goal_index"], "goal": episode["goal"]}
        observation, info = env.reset(options=options)
        assert observation == episode["reset"][mode]
        assert env.get_available_actions() == episode["reset"]["available"]
        assert "Instruction: " + info["goal"] == episode["instruction"]
        for step in episode["steps"]:
            observation, reward, terminated, truncated, info = env.step(step["action"])
            steps += 1
            # The rich text and the available actions of the last page were not recorded.
            if step["done"] and not exact:
                continue
            assert step[mode] is None or observation == step[mode]
            assert step["available"] is None or env.get_available_actions() == step["available"]
            assert (terminated, truncated, info["url"]) == (step["done"], False, step["url"])
            assert reward == step["reward"]
    assert steps == sum(len(episode["steps"]) for episode in episodes) > 700


def test_goals_and_their_indices_are_the_originals(webshop_data: Path, recorded) -> None:
    env = WebShopEnv(webshop_data, nouns="rules")
    assert len(env.goals) == 6910
    goals = env.catalogue.goals(human=False)
    for episode in recorded("transcripts.json.xz"):
        ours, theirs = goals[episode["goal_index"]].to_dict(), dict(episode["goal"])
        assert goals.weight(goals[episode["goal_index"]]) == pytest.approx(theirs.pop("weight"), rel=1e-12)
        # Upper prices come from the original's unseeded generator.
        for goal in (ours, theirs):
            goal.pop("price_upper")
            goal["instruction_text"] = goal["instruction_text"].split(", and price lower")[0]
        assert ours == theirs
