"""A tiny model as a checkpoint folder, and recipes that train it in seconds."""

import pytest

QUICK = {
    "max_steps": 2,
    "save_steps": 1,
    "logging_steps": 1,
    "learning_rate": 1e-2,
    "lr_scheduler_type": "constant",
    "use_cpu": True,
    "bf16": False,
}


@pytest.fixture
def tiny_folder(tiny, tmp_path):
    """The path of a checkpoint of the random two-layer model."""
    folder = tmp_path / "tiny"
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def grpo(tiny_folder):
    """GRPO in a scripted environment, as YAML values."""
    return {
        "kind": "grpo",
        "model": tiny_folder,
        "env": {"use": "agentkit.testing:ScriptedEnv"},
        "wrappers": [{"use": "JudgeRewardWrapper", "judge": {"use": "OracleJudge"}}],
        "terms": [{"use": "StepScores", "weight": 0.5}],
        "tasks": {"count": 8},
        "trainer": {
            **QUICK,
            "num_generations": 2,
            "per_device_train_batch_size": 2,
            "max_turns": 2,
            "gradient_checkpointing": False,
        },
    }
