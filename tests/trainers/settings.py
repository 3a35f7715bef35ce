"""Settings and doubles that the trainer's tests share."""

from typing import Any

from agentkit.trainers import AgentGRPOConfig, AgentGRPOTrainer
from agentkit.trainers.rollouts.text_generation import SampledText
from agentkit.wrappers import JudgeRewardWrapper
from tests.trainers.byte_model import Small, doors


def config(folder: Any, **settings: Any) -> AgentGRPOConfig:
    """A configuration that trains in a moment on a CPU."""
    defaults = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 4,
        "num_generations": 4,
        "max_steps": 2,
        "max_turns": 4,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
    }
    return AgentGRPOConfig(**{**defaults, **settings})


def by_position(trajectory):
    """A judge whose scores differ within an episode."""
    return [(t + 1) / len(trajectory) for t in range(len(trajectory))]


def judged(env):
    """A wrapper that asks it."""
    return JudgeRewardWrapper(env, by_position)


def trainer(small: Small, folder: Any, terms: Any = (), wrappers: Any = (judged,), **settings: Any) -> AgentGRPOTrainer:
    """A trainer in the environment `DOORS`."""
    return AgentGRPOTrainer(
        small.model,
        doors,
        config(folder, **settings),
        wrappers=wrappers,
        credit_terms=terms,
        processing_class=small.tokenizer,
    )


class ScriptedText:
    """A generator that draws one of some texts with the episode's own random state."""

    def __init__(self, tokenizer: Any, texts: tuple[str, ...]):
        self.ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        self.batches: list[int] = []

    def __call__(self, prompts, rngs):
        self.batches.append(len(prompts))
        drawn = [self.ids[int(rng.integers(len(self.ids)))] for rng in rngs]
        return [SampledText(ids, [-1.0] * len(ids)) for ids in drawn]


def losses(agent: AgentGRPOTrainer) -> list[float]:
    """The logged loss of each step."""
    return [entry["loss"] for entry in agent.state.log_history if "loss" in entry]


def logged(agent: AgentGRPOTrainer, name: str) -> list[float]:
    """Every logged value of a metric."""
    return [entry[name] for entry in agent.state.log_history if name in entry]
