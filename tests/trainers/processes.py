"""Trains a tiny model for `test_processes`, as one of several processes: ``processes.py FOLDER STYLE LOSS ROWS``."""

import json
import sys
from pathlib import Path

from agentkit.recipes.running import leave_processes
from agentkit.trainers import RoleCredit, StepScores
from agentkit.trainers.credit.terms import AnchorState, DiscountedReturns
from tests.trainers.byte_model import byte_model
from tests.trainers.settings import trainer

KEYS = ("loss", "grad_norm", "reward", "reward_std", "entropy", "frac_reward_zero_std", "credit/outcome/std")


def main(folder: str, style: str, loss_type: str, rows: int) -> None:
    agent = trainer(
        byte_model(),
        folder,
        [StepScores(), RoleCredit(), DiscountedReturns(), AnchorState()],
        prompt_style=style,
        loss_type=loss_type,
        per_device_train_batch_size=rows,
        max_tokens_per_micro_batch=300,
        scale_rewards="batch",
        max_steps=3,
    )
    agent.train()
    if agent.accelerator.is_main_process:
        steps = [{k: entry[k] for k in KEYS if k in entry} for entry in agent.state.log_history if "loss" in entry]
        Path(folder, "steps.json").write_text(json.dumps(steps))
    del agent
    leave_processes()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
