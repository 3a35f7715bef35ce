"""A comparator from branches to gate: SmolLM2 learns from counterfactual pairs, and advises on games it has not seen.

Branches of a scripted explorer that makes mistakes, a balanced sample of the labels, LoRA fine-tuning, a report on
other tasks, and then the same games played without a gate and with the untrained, the trained and the oracle
comparator. Every stage goes on where an interrupted run stopped.

python examples/benchmarks/trained_comparator.py --out runs/trained    # hours on one core
python examples/benchmarks/trained_comparator.py --device cuda --episodes 4000 --examples 30000 --steps 3000 \
    --batch 16 --max-length 1024 --test 2000 --tasks 134 --out runs/trained-large    # 64,000 pairs, most of them ties
"""

# CI data: ALFWORLD_DATA
# CI arguments: --episodes 4 --examples 3 --steps 1 --batch 1 --max-length 256 --test 1 --tasks 1 --max-steps 1 --k 1

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from peft import LoraConfig
from tqdm import tqdm
from transformers.trainer_utils import get_last_checkpoint

import agentkit  # noqa: F401 - registers the environments
from agentkit.actors import AdvisedActor, ExpertActor, MistakenActor
from agentkit.branches import BranchPair, load_branch_episodes
from agentkit.comparing import (
    Arm,
    OfflineCost,
    causal_table,
    offline_table,
    performance_table,
    play_arms,
    summarise_arms,
)
from agentkit.judges import OracleComparator, PairwiseComparator
from agentkit.judges.comparator_report import comparator_report
from agentkit.models import ConstrainedReadout, smollm2
from agentkit.models.usage import UsageMeter
from agentkit.rollout import Actor
from agentkit.trainers import collect_branches, comparator_examples
from agentkit.trainers.decisions.config import DecisionConfig
from agentkit.trainers.decisions.trainer import DecisionTrainer
from agentkit.trajectory import write_atomically
from agentkit.wrappers import ComparatorGateWrapper

HISTORY = 2
MISTAKES, FOLLOW = 0.5, 0.5


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=150, help="episodes whose states are branched (split train)")
    parser.add_argument("--examples", type=int, default=300, help="pairs to learn from at most")
    parser.add_argument("--steps", type=int, default=60, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--max-length", type=int, default=320, help="tokens of a question")
    parser.add_argument("--test", type=int, default=40, help="pairs of other tasks that the report is about at most")
    parser.add_argument("--tasks", type=int, default=20, help="games that are played (split valid_unseen)")
    parser.add_argument("--k", type=int, default=4, help="alternatives that a gate compares with")
    parser.add_argument("--max-steps", type=int, default=30, help="actions of an episode")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("runs/trained"))
    return parser.parse_args()


def make_actor(env: gym.Env, seed: int, meter: Any = None) -> Actor:
    """An explorer half of whose actions are random, and who follows half of the advice."""
    return AdvisedActor(MistakenActor(ExpertActor("explorer"), MISTAKES, seed=seed), FOLLOW, seed=seed)


def balanced(pairs: Sequence[BranchPair], most: int) -> list[BranchPair]:
    """At most ``most`` pairs, a third of them ties: as both orders are asked, A, B and T are then equally frequent."""
    rng = np.random.default_rng(0)
    decided, ties = ([p for p in pairs if (p.label == "T") == tie] for tie in (False, True))
    each = max(1, min(most // 3, len(decided) // 2, len(ties)))
    chosen = [decided[i] for i in rng.permutation(len(decided))[: 2 * each]]
    chosen += [ties[i] for i in rng.permutation(len(ties))[:each]]
    return [chosen[i] for i in rng.permutation(len(chosen))]


def train(pairs: Sequence[BranchPair], options: argparse.Namespace, folder: Path) -> None:
    """Fine-tune SmolLM2 on both orders of the pairs, from the last checkpoint where there is one."""
    examples = comparator_examples(pairs, PairwiseComparator(lambda queries: [], history=HISTORY))
    model, tokenizer = smollm2()
    checkpoints = options.out / "checkpoints"
    config = DecisionConfig(
        output_dir=str(checkpoints),
        max_length=options.max_length,
        per_device_train_batch_size=options.batch,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        max_steps=options.steps,
        save_steps=max(1, options.steps // 10),
        save_total_limit=1,
        logging_steps=max(1, options.steps // 10),
        use_cpu=options.device == "cpu",
        bf16=False,
        report_to="none",
    )
    modules = ["q_proj", "k_proj", "v_proj", "o_proj"]
    trainer = DecisionTrainer(
        model, tokenizer, config, examples, peft_config=LoraConfig(r=8, lora_alpha=16, target_modules=modules)
    )
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_readout(folder)


@contextmanager
def timed(stage: str, folder: Path) -> Iterator[None]:
    """Add the hours of a stage to those of earlier runs; what an interruption cut off is not counted."""
    path = folder / "hours.json"
    start = time.perf_counter()
    yield
    hours = json.loads(path.read_text("utf-8")) if path.exists() else {}
    hours[stage] = hours.get(stage, 0.0) + (time.perf_counter() - start) / 3600
    write_atomically(path, json.dumps(hours) + "\n")


def offline_cost(folder: Path, pairs: int) -> OfflineCost:
    """The hours of the stages; those of the collection are split by the actions that were executed."""
    hours = json.loads((folder / "hours.json").read_text("utf-8"))
    episodes = load_branch_episodes(folder / "branches.jsonl")
    base = sum(len(episode.history) for episode in episodes)
    branched = sum(sum(branch.steps) for episode in episodes for branch in episode.branches())
    share = base / (base + branched)
    return OfflineCost(
        base_rollouts=share * hours["collection"],
        branch_rollouts=(1 - share) * hours["collection"],
        fine_tuning=hours["fine-tuning"],
        pairs=pairs,
    )


def gated(model: Any, mode: Literal["constructive", "forced"], k: int) -> Any:
    """Puts a gate with this model around an environment; None stands for the oracle."""

    def wrap(env: gym.Env, seed: int, meter: UsageMeter) -> gym.Env:
        if model is None:
            return ComparatorGateWrapper(env, OracleComparator(env), k=k, mode=mode)
        counted = meter.metered(model, role="comparator", model="Llama-3.1-8B-Instruct")
        return ComparatorGateWrapper(env, PairwiseComparator(counted, history=HISTORY), k=k, mode=mode)

    return wrap


def main() -> None:
    """Branches, training, comparison."""
    options = arguments()
    branching = gym.make("agentkit/ALFWorld-v0", split="train", max_steps=30)
    with timed("collection", options.out), tqdm(unit="continuation") as bar:
        pairs = collect_branches(
            branching,
            make_actor,
            options.episodes,
            states_per_episode=4,
            continuations=4,
            discount=0.97,
            margin=0.1,
            out=options.out / "branches.jsonl",
            on_progress=lambda progress: bar.update(progress.continuations - bar.n),
        )
    learnt = balanced([pair for pair in pairs if pair.split == "train"], options.examples)
    print(f"{len(pairs)} pairs, {len(learnt)} of them to learn from")
    folder = options.out / "comparator"
    if not folder.exists():
        with timed("fine-tuning", options.out):
            train(learnt, options, folder)
    print(offline_table({"ALFWorld": offline_cost(options.out, len(pairs))}))
    untrained = ConstrainedReadout(*smollm2())
    untrained.scorer.model.to(options.device)
    trained = ConstrainedReadout.from_pretrained(str(folder), device=options.device)
    others = balanced([pair for pair in pairs if pair.split != "train"] or learnt, options.test)
    for name, model in (("untrained", untrained), ("trained", trained)):
        print(f"\n{name}\n{comparator_report(PairwiseComparator(model, history=HISTORY), others).table()}")
    arms = [
        Arm("original"),
        Arm("untrained, constructive", gated(untrained, "constructive", options.k)),
        Arm("trained, constructive", gated(trained, "constructive", options.k)),
        Arm("trained, forced", gated(trained, "forced", options.k)),
        Arm("oracle, constructive", gated(None, "constructive", options.k)),
    ]
    unseen = gym.make("agentkit/ALFWorld-v0", split="valid_unseen", max_steps=options.max_steps)
    settings = {"max_steps": options.max_steps, "k": options.k, "steps": options.steps, "examples": options.examples}
    played = play_arms(unseen, make_actor, arms, options.tasks, out=options.out, settings=settings, on_episode=print)
    results = summarise_arms(played)
    print(f"\n{performance_table(results)}\n\n{causal_table(results)}")


if __name__ == "__main__":
    main()
