"""What a recipe says: one frozen type for each kind of training run."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

PROMPT_KEYS = ("prompt_style", "action_style", "window", "thought", "list_actions", "system_prompt")
MODEL_DTYPES = ("float32", "bfloat16", "float16", "auto")


@attrs.frozen(kw_only=True)
class Part:
    """A class or function by name, with its arguments: ``{use: StepJudge, context: hindsight, model: {use: ...}}``.

    ``{ref: "my_package:my_judge"}`` is the function itself, not what it returns.
    """

    use: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    """Values as YAML gives them; a mapping with ``use`` or ``ref`` is a `Part` in turn."""
    called: bool = True


@attrs.frozen(kw_only=True)
class ModelSource:
    """The causal LM to train."""

    name: str
    """A checkpoint folder, a hub name, or ``smollm2`` for the packaged SmolLM2-135M-Instruct."""
    dtype: str = attrs.field(default="float32", validator=attrs.validators.in_(MODEL_DTYPES))
    """Of the weights; with the trainer's ``bf16`` the arithmetic is bfloat16 and the weights stay as they are."""
    attn_implementation: str = "sdpa"


@attrs.frozen(kw_only=True)
class Tasks:
    """Which seeds the environment is reset with, one a group of rollouts."""

    count: int = attrs.field(default=1000, validator=attrs.validators.ge(1))
    first_seed: int = attrs.field(default=0, validator=attrs.validators.ge(0))


@attrs.frozen(kw_only=True)
class GRPORecipe:
    """GRPO in an environment."""

    model: ModelSource
    env: Part
    """``{id: a registered id, ...}`` or ``{use: your factory, ...}``; the rest are its arguments."""
    wrappers: tuple[Part, ...] = ()
    """Innermost first; each gets the environment as its first argument."""
    terms: tuple[Part, ...] = ()
    """Credit terms."""
    tasks: Tasks = attrs.field(factory=Tasks)
    peft: Mapping[str, Any] | None = None
    """Fields of `peft.LoraConfig`; None trains every weight."""
    trainer: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields of `AgentGRPOConfig`."""


@attrs.frozen(kw_only=True)
class SFTRecipe:
    """A supervised warm start on recorded expert episodes."""

    model: ModelSource
    demonstrations: str
    """A JSONL file of episodes, such as ``agentkit eval --actor expert --save FILE`` writes."""
    only_won: bool = True
    prompt: Mapping[str, Any] = attrs.field(factory=dict)
    """How episodes are written down: those fields of `AgentGRPOConfig` that `PROMPT_KEYS` names."""
    peft: Mapping[str, Any] | None = None
    trainer: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields of `trl.SFTConfig`."""


def _is_share(instance: Any, attribute: "attrs.Attribute[float]", value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{attribute.name} must be a share in (0, 1), got {value!r}")


@attrs.frozen(kw_only=True)
class DecisionRecipe:
    """Fine-tuning of a judge, decider, role judge or comparator on option tokens."""

    model: ModelSource
    examples: str | Part
    """A JSONL file of `DecisionExample`\\ s, or a function that returns them."""
    held_out: float = attrs.field(default=0.2, validator=_is_share)
    """The share of examples to measure on; whole tasks are held out."""
    split_seed: int = 0
    peft: Mapping[str, Any] | None = None
    trainer: Mapping[str, Any] = attrs.field(factory=dict)
    """Fields of `DecisionConfig`."""


Recipe: TypeAlias = GRPORecipe | SFTRecipe | DecisionRecipe

KINDS: Mapping[str, type[Recipe]] = {"grpo": GRPORecipe, "sft": SFTRecipe, "decision": DecisionRecipe}
