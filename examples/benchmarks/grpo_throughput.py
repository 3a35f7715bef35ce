"""How many ALFWorld episodes a second does a GRPO step train on, and where does the time go?

Plays and trains on whole batches with `AgentGRPOTrainer`, and prints episodes a second and the share of time in
environment, judging, generation (choosing actions), forward-backward and idle. With `--trl-stock` the same model, tasks
and lengths then go through TRL's own `GRPOTrainer(environment_factory=...)` around stock alfworld. A small model hardly
writes valid tool calls, so there each answer is generated as TRL does it and then replaced by a valid call of a random
admissible action: TRL pays for `--answer-tokens` tokens a turn and every episode lasts as long as it may.

    python examples/benchmarks/grpo_throughput.py --episodes 128 --turns 20 --device cuda --trl-stock
    python examples/benchmarks/grpo_throughput.py                                   # small, on a CPU

Needs `pip install "gym-agentkit[demo]"` and ALFWORLD_DATA.
"""

# CI arguments: --episodes 2 --group 2 --turns 2 --updates 1
# CI data: ALFWORLD_DATA

import argparse
import itertools
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
from alfworld_conformance import StockEngine, find_games
from trl import GRPOConfig, GRPOTrainer

import agentkit  # noqa: F401 - registers the environments
from agentkit.judges import OracleJudge
from agentkit.models import smollm2
from agentkit.trainers import AgentGRPOConfig, AgentGRPOTrainer, StepScores
from agentkit.trainers.robustness.quiet import quieten_libraries
from agentkit.trainers.robustness.stopwatch import PARTS
from agentkit.wrappers import JudgeRewardWrapper


def common(options: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Settings of both sides."""
    return {
        "output_dir": folder,
        "use_cpu": options.device == "cpu",
        "bf16": options.device != "cpu",
        "gradient_checkpointing": options.checkpointing,
        "per_device_train_batch_size": options.episodes,
        "num_generations": options.group,
        "max_steps": options.updates + 1,  # the first one warms up
        "beta": 0.0,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "max_completion_length": 200 * options.turns,
    }


def run_ours(options: argparse.Namespace) -> list[dict[str, float]]:
    """One dictionary of seconds by part for each optimizer step after the first."""
    model, tokenizer = smollm2()

    def make_env() -> gym.Env:
        return gym.make("agentkit/ALFWorld-v0", split=options.split, max_steps=options.turns)

    with tempfile.TemporaryDirectory() as folder:
        args = AgentGRPOConfig(
            **common(options, folder),
            max_turns=options.turns,
            prompt_style=options.prompt_style,
            max_tokens_per_micro_batch=options.budget,
        )
        trainer = AgentGRPOTrainer(
            model,
            make_env,
            args,
            wrappers=[lambda env: JudgeRewardWrapper(env, OracleJudge())],
            credit_terms=[StepScores()],
            processing_class=tokenizer,
        )
        trainer.train()
    entries = [entry for entry in trainer.state.log_history if "time/total" in entry][1:]
    kept = (*PARTS, "idle", "total")
    steps = [{part: entry[f"time/{part}"] for part in kept} for entry in entries]
    turns = sum(entry["episodes/steps"] for entry in entries) / len(entries)
    padding = sum(entry["micro_batches/padding"] for entry in entries) / len(entries)
    print(f"mean turns of an episode {turns:.1f}; {padding:.0%} of the positions that were computed are padding")
    return steps


class StockALFWorld:
    """Stock alfworld in the form that TRL's ``environment_factory`` asks for: public methods are tools."""

    def __init__(self, games: list[Path]):
        self._games = games
        self._engine = StockEngine()
        self._loaded: Path | None = None
        self._turn: Any = None

    def reset(self, seed: int, **_: Any) -> str:
        """Load the task's game and give its opening."""
        path = self._games[seed % len(self._games)]
        if path != self._loaded:
            self._engine.load(json.loads(path.read_text()))
            self._loaded = path
        self._turn = self._engine.reset()
        return self._turn.feedback

    def act(self, action: str) -> str:
        """
        Do one action.

        Args:
            action: The action, as listed.

        Returns:
            What happened.
        """
        self._turn = self._engine.step(action)
        return self._turn.feedback

    def get_reward(self) -> float:
        """Whether the task is done."""
        return float(self._turn.won)


class ForcedCalls(GRPOTrainer):
    """TRL's trainer, whose answers become valid calls after they were generated (and paid for)."""

    def __init__(self, *args: Any, turns: int, **kwargs: Any):
        self._turns, self._live, self._done = turns, [], 0
        self._draw = random.Random(0)
        super().__init__(*args, **kwargs)

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        ids, _ = super()._generate_single_turn(prompt_ids, *args, **kwargs)
        environments: Any = self.environments
        if len(prompt_ids) == len(environments) and self._done % (self._turns + 1) == 0:
            self._live = list(range(len(environments)))
        self._done += 1
        goes_on = self._done % (self._turns + 1) != 0
        answers, live = [], []
        for i, generated in zip(self._live, ids, strict=True):
            turn = environments[i]._turn
            if goes_on and not turn.done:
                answers.append(self._call(self._draw.choice(turn.admissible_commands)))
                live.append(i)
            else:
                answers.append(generated)
        self._live = live
        return answers, None

    def _call(self, action: str) -> list[int]:
        text = f"<tool_call>\n{json.dumps({'name': 'act', 'arguments': {'action': action}})}\n</tool_call><|im_end|>"
        tokenizer: Any = self.processing_class
        return tokenizer(text, add_special_tokens=False)["input_ids"]


def run_trl(options: argparse.Namespace) -> list[float]:
    """Seconds of each optimizer step after the first."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl.chat_template_utils import qwen2_5_chat_template

    model, tokenizer = smollm2()
    tokenizer.chat_template = qwen2_5_chat_template  # SmolLM2's own, which is ChatML too, knows no tools
    games = find_games(Path(os.environ["ALFWORLD_DATA"]), [options.split], None, seed=0)
    times: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            times.append(time.perf_counter())

    prompt = [{"role": "user", "content": "Reach the goal.\n"}]
    with tempfile.TemporaryDirectory() as folder:
        trainer = ForcedCalls(
            model,
            args=GRPOConfig(
                **common(options, folder),
                max_tool_calling_iterations=options.turns,
                generation_kwargs={"max_new_tokens": options.answer_tokens},
            ),
            train_dataset=Dataset.from_dict({"prompt": [prompt] * 1000, "seed": list(range(1000))}),
            processing_class=tokenizer,
            environment_factory=lambda: StockALFWorld(games),
            callbacks=[Clock()],
            turns=options.turns,
        )
        trainer.train()
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def report(name: str, episodes: int, seconds: float) -> float:
    """Print and return episodes a second."""
    print(
        f"{name}: {episodes / seconds:.3f} episodes/s ({seconds:.1f} s for a step on {episodes} episodes)", flush=True
    )
    return episodes / seconds


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Episodes a second of a GRPO step on ALFWorld.")
    parser.add_argument("--episodes", type=int, default=8, help="in flight, all trained on in one step")
    parser.add_argument("--group", type=int, default=4, help="episodes of one task")
    parser.add_argument("--turns", type=int, default=5, help="the most actions of an episode")
    parser.add_argument("--updates", type=int, default=1, help="steps that are measured, after one that warms up")
    parser.add_argument("--split", default="train")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--prompt-style", default="conversation", choices=["conversation", "windowed"])
    parser.add_argument("--budget", type=int, default=16384, help="tokens of a micro-batch")
    parser.add_argument("--checkpointing", action="store_true", help="gradient checkpointing, on both sides")
    parser.add_argument("--trl-stock", action="store_true", help="measure TRL around stock alfworld too")
    parser.add_argument("--answer-tokens", type=int, default=16, help="tokens of an answer on TRL's side")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = parse()
    quieten_libraries()
    steps = run_ours(options)
    total = sum(step["total"] for step in steps)
    ours = report("agentkit", options.episodes * len(steps), total)
    for part in (*PARTS, "idle"):
        print(f"  {part:<18}{sum(step[part] for step in steps) / total:7.1%}")
    if options.trl_stock:
        stock = run_trl(options)
        theirs = report("TRL around stock alfworld", options.episodes * len(stock), sum(stock))
        print(f"agentkit trains on {ours / theirs:.1f} x as many episodes a second")


if __name__ == "__main__":
    main()
