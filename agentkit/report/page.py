"""One self-contained HTML page on which a person can read episodes."""

import base64
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from agentkit.extras import require
from agentkit.trajectory import Step, Trajectory, write_atomically


def write_page(
    path: str | os.PathLike[str],
    sections: Mapping[str, Sequence[Trajectory]],
    *,
    title: str = "agentkit episodes",
    summary: Mapping[str, Any] | None = None,
    figures: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Path:
    """Write the page: for each episode its goal and outcome, for each step what was seen, done, rewarded and judged.

    Args:
        path: where to write it; everything it needs is inside (styles, figures).
        sections: heading -> the episodes under it.
        title: the page's heading.
        summary: label -> value, shown as a table at the top.
        figures: caption -> PNG file, embedded.
    """
    jinja2 = require("jinja2", "report")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(resources.files("agentkit.report").joinpath("page.html.j2").read_text("utf-8"))
    images = {caption: base64.b64encode(Path(file).read_bytes()).decode() for caption, file in (figures or {}).items()}
    html = template.render(
        title=title,
        summary=summary or {},
        images=images,
        sections={heading: [_episode(t) for t in trajectories] for heading, trajectories in sections.items()},
    )
    return write_atomically(path, html)


def _episode(trajectory: Trajectory) -> dict[str, Any]:
    judges = list(dict.fromkeys(judge for step in trajectory.steps for judge in step.scores))
    return {
        "trajectory": trajectory,
        "final": readable(trajectory.final_observation),
        "judges": judges,
        "outcome": "won" if trajectory.won else "truncated" if trajectory.truncated else "not won",
        "steps": [_row(step, judges) for step in trajectory.steps],
    }


def _row(step: Step, judges: Sequence[str]) -> dict[str, Any]:
    raw = step.reward if step.raw_reward is None else step.raw_reward
    kind = "milestone" if step.milestones else "no-op" if step.state_changed is False else ""
    return {
        "step": step,
        "seen": readable(step.observation),
        "kind": kind,
        "raw": f"{raw:g}",
        "shaped": "" if step.shaped_reward is None else f"{step.shaped_reward:.2f}",
        "advantage": "" if step.advantage is None else f"{step.advantage:+.3f}",
        "probability": "" if step.probability is None else f"{step.probability:.2f}",
        "scores": [_score(step, judge) for judge in judges],
        "gate": _gate(step.gate),
    }


def readable(text: str) -> str:
    """A shop page, whose parts WebShop separates by ``[SEP]``, with a line for each part; other texts as they are."""
    return text.replace(" [SEP] ", "\n")


def _score(step: Step, judge: str) -> dict[str, Any]:
    verdict = step.scores.get(judge)
    if verdict is None or verdict.score is None:
        return {"text": "–", "shade": 0.0, "reason": "" if verdict is None else verdict.unscored}
    return {"text": f"{verdict.score:.2f}", "shade": round(verdict.score, 3), "reason": ""}


def _gate(gate: Mapping[str, Any] | None) -> str:
    if gate is None or not gate.get("advice"):
        return ""
    return f"advice {gate['advice']}"
