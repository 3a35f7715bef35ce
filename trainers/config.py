"""`AgentGRPOConfig`: TRL's `GRPOConfig` and what rollouts in environments need."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from trl import GRPOConfig

from agentkit.trainers.robustness.guarding import FailureRule
from agentkit.trainers.robustness.outage import OutagePolicy, OutageRule
from agentkit.trainers.rollouts.prompts import SYSTEM_PROMPT, ActionStyleName, PromptStyleName, Wording


@dataclass
class AgentGRPOConfig(GRPOConfig):
    """Every option of `trl.GRPOConfig`, and these.

    ``max_completion_length`` bounds the tokens of an episode after its first prompt (conversation) or of one answer
    (windowed); an episode that would grow longer is truncated. ``temperature`` is that of generated text; constrained
    actions have ``action_temperature``.

    Raises:
        ValueError: a value outside its range, or two options that exclude each other.
    """

    max_completion_length: int | None = field(
        default=4096, metadata={"help": "The most tokens of an episode after its first prompt."}
    )
    max_turns: int = field(default=50, metadata={"help": "The most executed actions of an episode."})
    prompt_style: PromptStyleName = field(
        default="conversation",
        metadata={"help": "'conversation': one growing sequence an episode; 'windowed': one sequence a turn."},
    )
    action_style: ActionStyleName = field(
        default="constrained",
        metadata={"help": "'constrained': choose among admissible actions; 'generated': parse text for an action."},
    )
    window: int = field(default=2, metadata={"help": "Past observations and actions that a windowed prompt shows."})
    thought: bool = field(default=True, metadata={"help": "Whether generated text must reason before it acts."})
    list_actions: bool | None = field(
        default=None,
        metadata={"help": "Whether prompts list the admissible actions; None = all but constrained conversations do."},
    )
    invalid_action_penalty: float = field(
        default=-0.1, metadata={"help": "Reward of a generated text that names no admissible action, at most 0."}
    )
    max_action_tokens: int = field(default=512, metadata={"help": "The most tokens of one generated answer."})
    action_temperature: float = field(
        default=1.0, metadata={"help": "Temperature of the distribution over admissible actions that is sampled."}
    )
    eval_temperature: float | None = field(
        default=None,
        metadata={"help": "Temperature of actions or text in evaluation; None = as in training, 0 = greedy."},
    )
    statistics: Literal["trajectory", "sample"] = field(
        default="trajectory",
        metadata={"help": "What the outcome's mean and spread count once: an episode, or each of its steps."},
    )
    max_tokens_per_micro_batch: int | None = field(
        default=16384,
        metadata={"help": "Cut batches so that rows x longest row stays below; None = one forward pass a batch."},
    )
    env_timeout: float | None = field(
        default=None, metadata={"help": "Seconds that a reset or step may take before the environment counts as hung."}
    )
    on_env_failure: FailureRule = field(
        default="retry",
        metadata={"help": "An episode whose environment failed is played again ('retry'), left out, or raises."},
    )
    max_env_retries: int = field(default=2, metadata={"help": "How often a failed episode is played again."})
    on_judge_outage: OutageRule = field(
        default="pause-then-outcome",
        metadata={"help": "What follows when a judge stops answering; see agentkit.trainers.robustness.outage."},
    )
    judge_outage_share: float = field(
        default=0.5, metadata={"help": "The share of unanswered steps from which a judge is out."}
    )
    judge_outage_wait: float = field(default=600.0, metadata={"help": "Seconds of all pauses of one outage together."})
    env_threads: int = field(default=1, metadata={"help": "Environments that step at the same time."})
    system_prompt: str = field(default=SYSTEM_PROMPT, metadata={"help": "The system message of every episode."})
    save_rollouts: bool = field(
        default=True, metadata={"help": "Append every episode, with its advantages, to rollouts.jsonl in output_dir."}
    )

    def __post_init__(self):
        for name, low in (("max_turns", 1), ("window", 0), ("max_action_tokens", 1), ("env_threads", 1)):
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, got {getattr(self, name)}")
        _one_of("prompt_style", self.prompt_style, get_args(PromptStyleName))
        _one_of("action_style", self.action_style, get_args(ActionStyleName))
        _one_of("statistics", self.statistics, ("trajectory", "sample"))
        if self.action_temperature <= 0:
            raise ValueError(f"action_temperature must be positive, got {self.action_temperature}")
        if self.eval_temperature is not None and self.eval_temperature < 0:
            raise ValueError(f"eval_temperature must be at least 0 (greedy), got {self.eval_temperature}")
        if self.invalid_action_penalty > 0:
            raise ValueError(f"invalid_action_penalty must be at most 0, got {self.invalid_action_penalty}")
        if self.max_tokens_per_micro_batch is not None and self.max_tokens_per_micro_batch < 1:
            raise ValueError(
                f"max_tokens_per_micro_batch must be at least 1, or None, got {self.max_tokens_per_micro_batch}"
            )
        self._check_robustness()
        super().__post_init__()
        self._check_combinations()

    def _check_robustness(self) -> None:
        _one_of("on_env_failure", self.on_env_failure, get_args(FailureRule))
        if self.max_env_retries < 0:
            raise ValueError(f"max_env_retries must be at least 0, got {self.max_env_retries}")
        if self.env_timeout is not None and not self.env_timeout > 0:
            raise ValueError(f"env_timeout must be a positive number of seconds or None, got {self.env_timeout}")
        _ = self.outage_policy

    def _check_combinations(self) -> None:
        if self.action_style == "constrained" and self.temperature != 1.0:
            raise ValueError(
                f"temperature={self.temperature} is that of generated text; with action_style='constrained' set "
                "action_temperature instead"
            )
        if self.action_style == "constrained" and self.use_vllm:
            raise ValueError("use_vllm=True generates text; it needs action_style='generated'")
        if self.max_tokens_per_micro_batch is not None:
            self._check_divisible()

    def _check_divisible(self) -> None:
        """Options of TRL that depend on the whole batch, and so forbid cutting it."""
        cutting = f"max_tokens_per_micro_batch={self.max_tokens_per_micro_batch}"
        if self.top_entropy_quantile < 1.0:
            raise ValueError(f"top_entropy_quantile={self.top_entropy_quantile} needs whole batches, not {cutting}")
        if self.use_adaptive_entropy:
            raise ValueError(f"use_adaptive_entropy=True needs whole batches, not {cutting}")

    @property
    def outage_policy(self) -> OutagePolicy:
        """When a judge is out, and what follows."""
        return OutagePolicy(rule=self.on_judge_outage, share=self.judge_outage_share, wait=self.judge_outage_wait)

    @property
    def wording(self) -> Wording:
        """The words of the prompts."""
        listed: Any = self.list_actions
        if listed is None:
            listed = (self.prompt_style, self.action_style) != ("conversation", "constrained")
        return Wording(self.action_style, self.thought, listed, self.system_prompt)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
