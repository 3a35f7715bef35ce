"""The state of an agent that is about to act, as the text that comparators and critics read."""

from agentkit.comparison import Comparison


def render_state(comparison: Comparison, history: int) -> str:
    """Goal, executed history, current observation and admissible actions (COTA, arXiv 2608.21027, Table 15).

    Args:
        comparison: its two actions are not shown, so that every question about one state begins alike.
        history: how many past (action, observation) pairs are shown.
    """
    past = comparison.history[-history:] if history else ()
    lines = [f"Goal: {comparison.goal}"]
    lines += [f"Action: {action}\nResult: {observation}" for action, observation in past]
    lines.append(current_observation(comparison))
    if comparison.admissible_actions:
        lines.append(f"Admissible actions: {', '.join(comparison.admissible_actions)}")
    return "\n".join(lines)


def current_observation(comparison: Comparison) -> str:
    """The line that tells what the agent sees."""
    return f"Current observation: {comparison.observation}"
