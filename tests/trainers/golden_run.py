"""The golden run: losses and gradient norms of a tiny random model, for each credit term and both prompt styles.

    python -m tests.trainers.golden_run     # writes tests/trainers/golden/losses.json anew

Only do so when a change is meant to change training, and say in the commit why the numbers moved.
"""

import json
import tempfile
from pathlib import Path

import attrs
import gymnasium as gym

from agentkit.trainers import AgentGRPOTrainer, RoleCredit, StepScores
from agentkit.trainers.credit.terms import AnchorState, DiscountedReturns, Outcome
from agentkit.wrappers import RoleCreditWrapper
from tests.trainers.byte_model import byte_model, doors
from tests.trainers.settings import config, judged, logged, losses

GOLDEN = Path(__file__).parent / "golden" / "losses.json"
STYLES = ("conversation", "windowed")
TERMS = {
    "outcome": [],
    "outcome_unscaled": [Outcome("none")],
    "outcome_sample_statistics": [Outcome(statistics="sample")],
    "step_scores": [StepScores()],
    "roles": [RoleCredit()],
    "roles_whitened": [RoleCredit(whiten="batch")],
    "discounted_returns": [DiscountedReturns()],
    "anchor_state": [AnchorState()],
    "function": [lambda group: [[0.1 * t for t in range(len(episode))] for episode in group]],
}


def roles(trajectory):
    """A role judge that goes by the actions' first letters."""
    names = {"e": "decisive", "l": "exploration"}
    return [names.get(step.action[0], "no-progress") for step in trajectory.steps]


def typed(env: gym.Env) -> gym.Env:
    """Roles around scores."""
    return RoleCreditWrapper(judged(env), roles)


def run(style: str, term: str) -> dict[str, list[float]]:
    """Loss and gradient norm of three steps."""
    small = byte_model()
    with tempfile.TemporaryDirectory() as folder:
        agent = AgentGRPOTrainer(
            small.model,
            doors,
            config(folder, prompt_style=style, max_steps=3, optim="sgd", per_device_train_batch_size=8),
            wrappers=[typed],
            credit_terms=[attrs.evolve(t) if attrs.has(type(t)) else t for t in TERMS[term]],
            processing_class=small.tokenizer,
        )
        agent.train()
    return {"loss": losses(agent), "grad_norm": logged(agent, "grad_norm")}


def main() -> None:
    """Write the numbers."""
    numbers = {style: {term: run(style, term) for term in TERMS} for style in STYLES}
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
