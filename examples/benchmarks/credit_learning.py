"""How fast a policy learns with informative step scores, and without: GRPO from scratch in a small environment.

At each of four lamps one of four words opens the way on; a wrong word changes nothing, and eight words may be said. Who
says them at random gets through in 11 % of the episodes, and the outcome tells no more than that. Two arms learn from
the same seeds: from the outcome alone, and from the outcome with a judge's step scores (here the environment's own
ground truth, which is as informative as a judge can be). The policy is a two-layer transformer with random weights. On
the CPU, in a few minutes:

    python examples/benchmarks/credit_learning.py

It prints the updates until success passes 90 %, and writes success by update and a picture of the curves to --out.
After Ctrl-C the same command goes on with the runs that are not done.
"""

# CI arguments: --seeds 1 --updates 2 --group 2

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from tqdm import tqdm
from transformers import PrinterCallback

from agentkit.journal import Journal
from agentkit.judges import OracleJudge
from agentkit.testing import ScriptedEnv
from agentkit.trainers import AgentGRPOConfig, AgentGRPOTrainer
from agentkit.trainers.credit.terms import CreditTerm, StepScores
from agentkit.trainers.robustness.quiet import quieten_libraries
from agentkit.trajectory import Trajectory
from agentkit.wrappers import JudgeRewardWrapper

LAMPS = {"red": "sun", "green": "rain", "blue": "wind", "white": "snow"}
"""The colour of each lamp, and the word that opens the way past it."""
CHOICES = ("sun", "rain", "wind", "snow")
TURNS = 8
GOAL = 0.9
WINDOW = 5
"""Updates over which success is averaged."""
TEMPLATE = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"


def lamps() -> ScriptedEnv:
    """The environment."""
    colours = [*LAMPS, "end"]
    states: dict[str, Any] = {"end": {"observation": "open", "won": True}}
    for colour, onward in itertools.pairwise(colours):
        right = {"to": onward, "reward": float(onward == "end"), "milestones": [colour]}
        words = {word: right if word == LAMPS[colour] else colour for word in CHOICES}
        states = {**states, colour: {"observation": f"{colour} lamp", "actions": words}}
    return ScriptedEnv({name: states[name] for name in colours}, goal="pass", max_steps=TURNS)


def tokenizer() -> Any:
    """One token a word, and a chat template without roles."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", "Goal", ":", "pass", "lamp", "open", *LAMPS, *CHOICES]
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.add_special_tokens(["<s>", "</s>"])
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<unk>"
    )
    made.chat_template = TEMPLATE
    return made


def policy(words: Any, seed: int) -> Any:
    """A transformer of two layers of width 64, with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    return LlamaForCausalLM(config)


@attrs.frozen
class Setting:
    """What all runs share."""

    updates: int
    group: int
    """Episodes of one group; each update plays two groups."""
    learning_rate: float


@attrs.frozen
class Run:
    """One training."""

    setting: Setting
    seed: int
    arm: str
    success: tuple[float, ...]
    """The share of episodes won, by update."""


def learn(
    terms: Sequence[CreditTerm], seed: int, setting: Setting, folder: Path, tick: Callable[[], Any]
) -> tuple[float, ...]:
    """Train once, calling ``tick`` at each update; the answer is the share of episodes won, by update."""
    success: list[float] = []

    def note(done: list[Trajectory]) -> None:
        success.append(float(np.mean([trajectory.won for trajectory in done])))
        tick()

    config = AgentGRPOConfig(
        output_dir=str(folder),
        seed=seed,
        max_steps=setting.updates,
        max_turns=TURNS,
        num_generations=setting.group,
        per_device_train_batch_size=2 * setting.group,
        learning_rate=setting.learning_rate,
        lr_scheduler_type="constant",
        beta=0.0,
        system_prompt="",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        save_strategy="no",
        save_rollouts=False,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
    )
    words = tokenizer()
    trainer = AgentGRPOTrainer(
        policy(words, seed),
        lamps,
        config,
        wrappers=[lambda env: JudgeRewardWrapper(env, OracleJudge())],
        credit_terms=terms,
        processing_class=words,
        on_rollouts=note,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return tuple(success)


def smoothed(success: Sequence[float]) -> np.ndarray:
    """The mean of the last `WINDOW` updates (of fewer at the start), shape as given."""
    return np.array([np.mean(success[max(0, i + 1 - WINDOW) : i + 1]) for i in range(len(success))])


def updates_to_goal(success: Sequence[float]) -> int | None:
    """The first update whose smoothed success is above `GOAL`; None if there is none."""
    above = np.flatnonzero(smoothed(success) > GOAL)
    return int(above[0]) + 1 if above.size else None


def draw(curves: Mapping[str, list[Sequence[float]]], path: Path) -> None:
    """Write a picture of the mean and the range of each arm's curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for arm, runs in curves.items():
        lines = np.stack([smoothed(run) for run in runs])
        updates = np.arange(1, lines.shape[1] + 1)
        axes.plot(updates, lines.mean(0), label=arm)
        axes.fill_between(updates, lines.min(0), lines.max(0), alpha=0.2)
    axes.axhline(GOAL, color="grey", linestyle=":")
    axes.set(xlabel="update", ylabel=f"success (mean of {WINDOW} updates)", ylim=(0, 1.02))
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def report(run: Run) -> str:
    """One line of the table."""
    first, last = np.mean(run.success[:WINDOW]), np.mean(run.success[-WINDOW:])
    return f"{run.seed:>4}  {run.arm:24}{first:>7.2f}{last:>7.2f}{updates_to_goal(run.success) or 'never':>20}"


def main() -> None:
    """Train both arms on each seed, and print one line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--group", type=int, default=8, help="episodes of one group")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--out", type=Path, default=Path("runs/credit_learning"))
    given = parser.parse_args()
    quieten_libraries()
    setting = Setting(given.updates, given.group, given.learning_rate)
    arms: dict[str, list[CreditTerm]] = {"outcome": [], "outcome + step scores": [StepScores(weight=0.5)]}
    journal = Journal(given.out / "runs.jsonl", Run)
    known = {(run.seed, run.arm): run for run in journal.entries() if run.setting == setting}
    curves: dict[str, list[Sequence[float]]] = {arm: [] for arm in arms}
    print(f"{'seed':>4}  {'arm':24}{'first':>7}{'last':>7}{'updates to > 90 %':>20}")
    with tqdm(total=given.seeds * len(arms) * given.updates, unit="update", leave=False) as progress:
        for seed, (arm, terms) in itertools.product(range(given.seeds), arms.items()):
            run = known.get((seed, arm))
            if run is None:
                run = Run(setting, seed, arm, learn(terms, seed, setting, given.out / "training", progress.update))
                journal.add(run)
            curves[arm].append(run.success)
            progress.write(report(run))
    draw(curves, given.out / "success.png")
    for arm, runs in curves.items():
        reached = [updates_to_goal(run) for run in runs]
        print(f"{arm}: {sum(r is not None for r in reached)} of {len(runs)} seeds above 90 %, after {reached} updates")
    print(f"curves: {given.out / 'success.png'}, numbers: {journal.path}")


if __name__ == "__main__":
    main()
