"""A run that can be killed in the middle of a step: the same program trains whole, dies, and goes on.

    python -m tests.trainers.resuming FOLDER DIES_AT

trains in FOLDER, from its last complete checkpoint if there is one, and dies by SIGKILL (as does a process that runs
out of memory) when the environments take their DIES_AT-th step; 0 = not at all. Losses are printed as JSON.
"""

import copy
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from agentkit.testing import ScriptedEnv
from agentkit.trainers import AgentGRPOConfig, AgentGRPOTrainer
from agentkit.trainers.credit.terms import StepScores
from agentkit.wrappers import JudgeRewardWrapper
from tests.trainers.byte_model import DOORS, byte_model
from tests.trainers.settings import losses

STEPS = 6


class Budgeted:
    """A judge with a state: it scores half of the steps lower once its budget is spent."""

    name = "budgeted"

    def __init__(self, budget: int = 30):
        self.budget = budget

    def __call__(self, trajectory: Any) -> list[float]:
        self.budget -= len(trajectory)
        return [(0.9 if self.budget > 0 or t % 2 else 0.3) / (t + 1) for t in range(len(trajectory))]

    def state_dict(self) -> dict[str, int]:
        return {"budget": self.budget}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.budget = state["budget"]


class Tiring(gym.Wrapper):
    """An environment with a state that outlives its episodes: every seventh step of its life earns something."""

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.age = 0

    def step(self, action: str):
        Doom.step()
        self.age += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) + (self.age % 7 == 0), terminated, truncated, info

    def state_dict(self) -> dict[str, int]:
        return {"age": self.age}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.age = state["age"]


class Doom:
    """Ends the process at a given step of all environments together."""

    at = 0
    taken = 0

    @classmethod
    def step(cls) -> None:
        """Count one step."""
        cls.taken += 1
        if cls.taken == cls.at:
            os.kill(os.getpid(), signal.SIGKILL)


def make_trainer(folder: Path, **settings: Any) -> AgentGRPOTrainer:
    """A trainer whose losses depend on the state of its judge and of its environments."""
    small, judge = byte_model(), Budgeted()
    defaults: dict[str, Any] = {
        "max_steps": STEPS,
        "save_steps": 2,
        "per_device_train_batch_size": 4,
        "num_generations": 4,
    }
    config = AgentGRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        max_turns=4,
        learning_rate=1e-2,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        **{**defaults, **settings},
    )
    return AgentGRPOTrainer(
        small.model,
        lambda: Tiring(ScriptedEnv(copy.deepcopy(DOORS), goal="get out")),
        config,
        wrappers=[lambda env: JudgeRewardWrapper(env, judge)],
        credit_terms=[StepScores()],
        processing_class=small.tokenizer,
    )


def main() -> None:
    """Train, or die."""
    folder, Doom.at = Path(sys.argv[1]), int(sys.argv[2])
    agent = make_trainer(folder)
    agent.train(resume_from_checkpoint=True)
    print(json.dumps(losses(agent)))


if __name__ == "__main__":
    main()
