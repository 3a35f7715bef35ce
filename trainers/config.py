"""`AgentGRPOConfig`: TRL's `GRPOConfig` and what rollouts in environments need."""

from dataclasses import dataclass, field

from trl import GRPOConfig

SYSTEM_PROMPT = "You are an agent in a text environment. Reach the goal. Answer with your next action only."


@dataclass
class AgentGRPOConfig(GRPOConfig):
    """Every option of `trl.GRPOConfig`, and these.

    ``max_completion_length`` bounds the tokens of an episode after its first observation; an episode that would grow
    longer is truncated.
    """

    max_completion_length: int | None = field(
        default=4096, metadata={"help": "The most tokens of an episode after its first observation."}
    )
    max_turns: int = field(default=50, metadata={"help": "The most executed actions of an episode."})
    action_temperature: float = field(
        default=1.0, metadata={"help": "Temperature of the distribution over admissible actions that is sampled."}
    )
    system_prompt: str = field(default=SYSTEM_PROMPT, metadata={"help": "The system message of every episode."})
    save_rollouts: bool = field(
        default=True, metadata={"help": "Append every episode, with its advantages, to rollouts.jsonl in output_dir."}
    )

    def __post_init__(self):
        if self.max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {self.max_turns}")
        if self.action_temperature <= 0:
            raise ValueError(f"action_temperature must be positive, got {self.action_temperature}")
        super().__post_init__()
