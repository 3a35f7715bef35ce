"""How fast is `ConstrainedReadout`, against one forward pass per option, one per question, and transformers' pipeline?

    python examples/benchmarks/readout.py                                # CPU, small
    python examples/benchmarks/readout.py --device cuda --trajectories 128 --token-budget 262144

Two kinds of queries, on ALFWorld episodes of a random player: acting (an action among the admissible ones) and
hindsight judging (did this action help? for each of 30 steps of one trajectory). All sides score the same options after
the same prompts and must agree: to 1e-4 in float32; in bfloat16 the largest difference is printed. The pipeline words
its prompt in its own way, so only its time is compared. The floor is the arithmetic of each unique token once, at the
rate that a large matrix product reaches in the same run.

Needs `pip install "gym-agentkit[alfworld,models]"`; plays the games of ALFWORLD_DATA, or makes some.
"""

# CI arguments: --trajectories 1 --steps 4 --actions 2

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch

import agentkit
from agentkit.actors import ConstrainedReadoutActor, RandomActor
from agentkit.decisions import Query
from agentkit.judges import StepJudge
from agentkit.models import ConstrainedReadout, smollm2
from agentkit.models.token_tree import Item, build_tree

Scores = list[np.ndarray]


def episodes(count: int, steps: int) -> list[agentkit.Trajectory]:
    """Episodes of a random player, ``steps`` long."""
    data = os.environ.get("ALFWORLD_DATA")
    if data is None:
        from agentkit.envs.alfworld.generate import make_games

        data = tempfile.mkdtemp(prefix="agentkit-games-")
        make_games(data, count=max(6, count))
    env = gym.make("agentkit/ALFWorld-v0", data=data, split="train", max_steps=steps)
    return agentkit.rollout(env, RandomActor(seed=0), count, seed=0)


def acting_queries(trajectories: Sequence[agentkit.Trajectory], count: int) -> list[Query]:
    """What the readout actor asks at ``count`` moments of the episodes."""
    asked: list[Query] = []
    for trajectory in trajectories:
        actor = ConstrainedReadoutActor(lambda queries: [])
        for step in trajectory.steps:
            info = {"goal": trajectory.goal, "admissible_actions": step.admissible_actions}
            asked.append(actor.query(step.observation, info))
    return [asked[i] for i in np.linspace(0, len(asked) - 1, count).astype(int)]


class Bench:
    """One model and the four ways to read it."""

    def __init__(self, model: Any, tokenizer: Any, token_budget: int | None):
        self.model, self.readout = model, ConstrainedReadout(model, tokenizer, token_budget=token_budget)

    def items(self, queries: Sequence[Query]) -> list[Item]:
        """The token sequences behind queries."""
        encoder = self.readout.encoder
        return [self.readout.item(encoder.prompt(self.readout.messages(q)), q.question.options) for q in queries]

    def synchronise(self) -> None:
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()

    @torch.inference_mode()
    def per_option(self, items: Sequence[Item]) -> Scores:
        """One forward pass for each option."""
        return [
            np.array([self._sums([item.prefix + c], len(item.prefix))[0] for c in item.continuations]) for item in items
        ]

    @torch.inference_mode()
    def per_question(self, items: Sequence[Item]) -> Scores:
        """One forward pass for each question, its options in a padded batch."""
        return [np.array(self._sums([item.prefix + c for c in item.continuations], len(item.prefix))) for item in items]

    def _sums(self, sequences: Sequence[Sequence[int]], start: int) -> list[float]:
        width = max(map(len, sequences))
        ids = torch.zeros((len(sequences), width), dtype=torch.long)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
        ids = ids.to(self.model.device)
        logits = self.model(input_ids=ids, logits_to_keep=width - start + 1, use_cache=False).logits
        picked = torch.log_softmax(logits[:, :-1].float(), -1).gather(2, ids[:, start:, None])[..., 0].cpu()
        return [picked[row, : len(sequence) - start].sum().item() for row, sequence in enumerate(sequences)]

    def ours(self, queries: Sequence[Query]) -> list[agentkit.Decision]:
        """The readout, text to decisions."""
        self.readout.scorer.forget()
        return self.readout(queries)

    def timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """The result and the seconds of a call."""
        self.synchronise()
        start = time.perf_counter()
        result = work()
        self.synchronise()
        return result, time.perf_counter() - start


def matmul_rate(model: Any) -> float:
    """FLOP/s of a large matrix product in the model's type on its device."""
    size = 8192 if model.device.type == "cuda" else 1536
    a, b = (torch.randn(size, size, device=model.device, dtype=model.dtype) for _ in range(2))
    seconds = []
    for _ in range(6):
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        torch.matmul(a, b)
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / float(np.median(seconds[1:]))


def pipeline_seconds(bench: Bench, tokenizer: Any, queries: Sequence[Query]) -> float | None:
    """Seconds of transformers' decision pipeline on the queries; None where it takes none of them."""
    try:
        from agentkit.models import TransformersDecision

        decide = TransformersDecision(bench.model, tokenizer=tokenizer)
    except ImportError as error:
        print(f"  (c) is left out: {error}")
        return None
    decide(queries[:1])
    decisions, seconds = bench.timed(lambda: decide(queries))
    answered = sum(d.unscored is None for d in decisions)
    print(f"  (c) answered {answered} of {len(queries)} queries")
    return seconds if answered else None


def compare(name: str, bench: Bench, tokenizer: Any, queries: list[Query], sample: int, rate: float) -> None:
    """Time the four sides; the slow ones on the first ``sample`` queries, scaled up to all of them."""
    scale, few = len(queries) / sample, queries[:sample]
    items = bench.items(queries)
    bench.ours(few)
    ours, seconds = bench.timed(lambda: bench.ours(queries))
    expected, per_option = bench.timed(lambda: bench.per_option(items[:sample]))
    _, per_question = bench.timed(lambda: bench.per_question(items[:sample]))
    pipeline = pipeline_seconds(bench, tokenizer, few)
    worst = 0.0
    for decision, sums in zip(ours[:sample], expected, strict=True):
        reference = np.exp(sums - sums.max())
        worst = max(worst, float(np.abs(np.array(decision.probabilities) - reference / reference.sum()).max()))
    assert bench.model.dtype != torch.float32 or worst < 1e-4, worst
    floor = unique_tokens(queries, items) * flops_per_token(bench.model) / rate
    lengths = [len(item.prefix) + sum(map(len, item.continuations)) for item in items]
    print(f"{name}: {len(queries)} queries of {np.mean(lengths):.0f} tokens; probabilities agree to {worst:.1e}")
    for label, other in (
        ("(a) per option", per_option),
        ("(b) per question", per_question),
        ("(c) pipeline", pipeline),
    ):
        if other is not None:
            print(f"  {label:<17} {other * scale:9.2f} s   {other * scale / seconds:7.1f} x (d)")
    print(f"  (d) readout       {seconds:9.2f} s   floor {floor:.3f} s, {seconds / floor:.1f} x the floor")


def unique_tokens(queries: Sequence[Query], items: Sequence[Item]) -> int:
    """Tokens that have to be computed when queries of one context share it."""
    contexts: dict[str, list[Item]] = {}
    for query, item in zip(queries, items, strict=True):
        contexts.setdefault(query.context, []).append(item)
    return sum(len(build_tree(group)) for group in contexts.values())


def flops_per_token(model: Any) -> float:
    """Two operations for each weight that every token passes (the embedding is a look-up)."""
    total = sum(p.numel() for p in model.parameters())
    return 2.0 * (total - model.get_input_embeddings().weight.numel())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", help="default: float32 on the CPU, bfloat16 elsewhere")
    parser.add_argument("--trajectories", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--actions", type=int, default=10, help="acting queries")
    parser.add_argument("--sample", type=int, default=4, help="queries that the slow sides answer")
    parser.add_argument("--token-budget", type=int, help="default: by device")
    arguments = parser.parse_args()
    dtype = arguments.dtype or ("float32" if arguments.device == "cpu" else "bfloat16")
    model, tokenizer = smollm2(dtype=dtype)
    bench = Bench(model.to(arguments.device), tokenizer, arguments.token_budget)
    rate = matmul_rate(bench.model)
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.machine()
    print(f"{device}, {os.cpu_count()} cores, {dtype}, matrix products at {rate / 1e12:.2f} TFLOP/s")
    played = episodes(arguments.trajectories, arguments.steps)
    judge = StepJudge(bench.readout)
    judging = [query for trajectory in played for query in judge.queries(trajectory)]
    acting = acting_queries(played, arguments.actions)
    compare("hindsight judging", bench, tokenizer, judging, min(arguments.sample, len(judging)), rate)
    compare("acting", bench, tokenizer, acting, min(arguments.sample, len(acting)), rate)


if __name__ == "__main__":
    main()
