"""WebShop against recordings of the original: episodes, rewards and search rankings.

    python examples/benchmarks/webshop_conformance.py --data ../shared/data/webshop

The data folder holds WebShop's 1,000-product files and ``reference/`` with the recordings.
"""

# CI arguments:
# CI data: WEBSHOP_DATA

import argparse
import json
import lzma
import os
from pathlib import Path
from typing import Any

from agentkit.envs.webshop import Catalogue, WebShopEnv, load_catalogue
from agentkit.envs.webshop.goals import goal_from_dict
from agentkit.envs.webshop.nouns import RuleNouns
from agentkit.envs.webshop.reward import Nouns, purchase_reward


def read(folder: Path, name: str) -> Any:
    """A recording by its file name."""
    with lzma.open(folder / "reference" / name) as file:
        return json.load(file)


def replay(folder: Path, mode: str, nouns: str) -> tuple[int, int]:
    """(differing values, steps) over the recorded episodes, with the recorded rankings plugged in."""
    faults = steps = 0
    for episode in read(folder, "transcripts.json.xz"):
        searches = [step for step in episode["steps"] if step.get("ranking") is not None]
        rankings = {step["action"][len("search[") : -1].lower(): step["ranking"] for step in searches}
        env = WebShopEnv(
            folder,
            search=lambda query, k, known=rankings: known[query],
            prices=episode["prices"],
            observation_mode=mode,
            nouns=nouns,
            max_steps=None,
        )
        observation, _ = env.reset(options={"goal_index": episode["goal_index"], "goal": episode["goal"]})
        faults += observation != episode["reset"][mode]
        faults += env.get_available_actions() != episode["reset"]["available"]
        for step in episode["steps"]:
            observation, reward, terminated, _, info = env.step(step["action"])
            ours = (observation, env.get_available_actions(), reward, terminated, info["url"])
            theirs = (step[mode], step["available"], step["reward"], step["done"], step["url"])
            # What was not recorded (of the last page) is None.
            faults += sum(a != b for a, b in zip(ours, theirs, strict=True) if b is not None)
            steps += 1
    return faults, steps


def compare_rewards(catalogue: Catalogue, cases: list[dict[str, Any]], nouns: Nouns) -> tuple[int, int]:
    """On how many recorded purchases the reward with all its parts, and the type reward alone, are the original's."""
    whole = types = 0
    for case in cases:
        product = catalogue.products.get(case["asin"])
        assert product is not None
        goal = goal_from_dict({**case["goal"], "instruction_text": ""})
        ours = purchase_reward(product, goal, price=case["price"], options=case["options"], nouns=nouns)
        whole += ours == (case["reward"], case["parts"])
        types += ours[1]["r_type"] == case["parts"]["r_type"]
    return whole, types


def compare_rankings(catalogue: Catalogue, cases: list[dict[str, Any]]) -> None:
    """Print how far the search agrees with Lucene's recorded rankings."""
    tops = {10: 0, 50: 0}
    error = 0.0
    for case in cases:
        hits = catalogue.search_hits(case["query"], 50)
        for k in tops:
            tops[k] += [name for name, _ in hits[:k]] == [name for name, _ in case["hits"][:k]]
        scores = dict(hits)
        error = max([error, *(abs(scores.get(name, 0.0) - score) / score for name, score in case["hits"])])
    agreement = ", ".join(f"same top {k} in order on {count} of {len(cases)}" for k, count in tops.items())
    print(f"search: {agreement} queries; largest relative error of a score {error:.1e}")


def main() -> None:
    """Compare, and print one line for each kind of recording."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WEBSHOP_DATA", "../shared/data/webshop"))
    folder = parser.parse_args().data
    catalogue = load_catalogue(str(folder))
    for mode in ("text", "text_rich"):
        faults, steps = replay(folder, mode, "auto")
        print(f"episodes ({mode}, nouns by {catalogue.noun_source}): {faults} differing values in {steps} steps")
    cases = read(folder, "rewards.json.xz")
    for name, nouns in ((catalogue.noun_source, catalogue.nouns), ("rules", RuleNouns())):
        whole, types = compare_rewards(catalogue, cases, nouns)
        share = f"{types / len(cases):.2%}"
        print(f"rewards (nouns by {name}): {whole} of {len(cases)} equal with all parts; type reward equal on {share}")
    compare_rankings(catalogue, read(folder, "lucene_rankings.json.xz"))


if __name__ == "__main__":
    main()
