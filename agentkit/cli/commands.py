"""What the commands do."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentkit.cli.naming import make_actor, make_env
from agentkit.evaluation import Evaluation
from agentkit.rollout import iterate_rollouts
from agentkit.trajectory import Trajectory, append_trajectory


def demo(*, out: Path, seed: int, teacher: str, updates: int, turns: int, fresh: bool) -> None:
    """The demo, and what to do after it; Ctrl-C leaves complete files and says how to go on."""
    from agentkit.demo import DemoSettings, run_demo

    settings = DemoSettings(seed=seed, teacher=teacher, updates=updates, turns=turns)
    try:
        result = run_demo(out, settings, fresh=fresh, say=lambda line: print(line, flush=True))
    except KeyboardInterrupt:
        options = f"--out {out} --seed {seed} --teacher {teacher} --updates {updates} --turns {turns}"
        sys.exit(f"\nstopped; what is in {out} is complete. Go on with: agentkit demo {options}")
    metrics = result.metrics
    data = out / "games"
    print(f"\nlosses: {', '.join(f'{loss:+.4f}' for loss in metrics['losses'])}")
    print(f"success before {metrics['success_before']:.0%}, after {metrics['success_after']:.0%}")
    print(f"mean oracle score before {metrics['score_before']:.3f}, after {metrics['score_after']:.3f}")
    print(f"\nThe episodes: {result.page}\n\nTry next:")
    print(f"  ALFWORLD_DATA={data} agentkit play --split train")
    print(f"  ALFWORLD_DATA={data} agentkit eval --split train --actor expert --limit 12")
    print(f"  agentkit demo --teacher model --out {out}-model")


def evaluate(
    env_id: str, actor_name: str, *, split: str | None, limit: int, max_steps: int, seed: int, save: Path | None
) -> None:
    """Play, with progress on stderr, and print the table."""
    from tqdm import tqdm

    env = make_env(env_id, split=split, max_steps=max_steps)
    actor = make_actor(actor_name, env, seed)
    done: list[Trajectory] = []
    bar = tqdm(total=limit, unit="episode", file=sys.stderr)
    try:
        for trajectory in iterate_rollouts(env, actor, limit, seed=seed):
            done.append(trajectory)
            if save is not None:
                append_trajectory(save, trajectory)
            bar.update()
            bar.set_postfix_str(f"won {sum(t.won for t in done)}/{len(done)}")
    except KeyboardInterrupt:
        print(f"\nstopped after {len(done)} of {limit} episodes", file=sys.stderr)
    finally:
        bar.close()
    if done:
        where = env_id if split is None else f"{env_id}, {split}"
        print(f"{where}: actor {actor_name}, {len(done)} episodes of at most {max_steps} steps")
        print(Evaluation(trajectories=done).table())


def play(env_id: str, *, split: str | None, task_id: str | None, seed: int) -> None:
    """One game in the terminal: type an action or its number, Enter lists them, Ctrl-D ends."""
    env = make_env(env_id, split=split, task_id=task_id, render_mode="ansi")
    _, info = env.reset(seed=seed)
    print("Type an action or its number; Enter lists the actions, Ctrl-D ends.\n")
    print(env.render())
    ended, reward = False, 0.0
    while not ended:
        action = _ask(info["admissible_actions"])
        if action is None:
            print("\nGood-bye.")
            return
        _, reward, terminated, truncated, info = env.step(action)
        print(f"\n{env.render()}")
        for milestone in info.get("milestones", ()):
            print(f"  * {milestone}")
        ended = terminated or truncated
    print("\nYou won!" if info["won"] else f"\nThe episode is over; the last reward was {reward:g}.")


def _ask(actions: Sequence[str]) -> str | None:
    """The next action; None at the end of the input."""
    while True:
        try:
            line = input("\n> ").strip()
        except EOFError:
            return None
        if line.isdigit() and 1 <= int(line) <= len(actions):
            chosen = actions[int(line) - 1]
            if not re.search("<[^<>]+>", chosen):
                print(f"({chosen})")
                return chosen
            print(f"Type {chosen} and put in your own words.")
        elif line:
            return line
        else:
            print("\n".join(f"{number:>3}  {action}" for number, action in enumerate(actions, start=1)))


def make_games(count: int, seed: int, out: Path, **options: Any) -> None:
    """Make games, with progress on stderr."""
    from tqdm import tqdm

    from agentkit.envs.alfworld.generate import make_games as make

    bar = tqdm(total=count, unit="game", file=sys.stderr, delay=0.2)  # nothing is drawn for arguments that are refused

    def advance(done: int, total: int) -> None:
        bar.update(done - bar.n)

    with bar:
        made = make(out, count, seed, progress=advance, **options)
    print(f"{len(made)} games in {out}; play one with: ALFWORLD_DATA={out} agentkit play --split {options['split']}")
