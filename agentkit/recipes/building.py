"""A checked recipe's parts as objects."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym

from agentkit.extras import require
from agentkit.models import smollm2
from agentkit.models.packaged import LocalModel
from agentkit.recipes.checking import config_class
from agentkit.recipes.naming import find_part
from agentkit.recipes.reading import is_part, read_part
from agentkit.recipes.recipe import ModelSource, Part, Recipe, SFTRecipe

PACKAGED = "smollm2"


def load_model(source: ModelSource) -> LocalModel:
    """The model and its tokenizer.

    Raises:
        OSError: there is no such checkpoint.
        ImportError: an extra is missing.
    """
    if source.name == PACKAGED:
        return smollm2(dtype=source.dtype)
    transformers = require("transformers", "train")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        source.name, dtype=source.dtype, attn_implementation=source.attn_implementation
    )
    return LocalModel(model, transformers.AutoTokenizer.from_pretrained(source.name))


def build_part(part: Part, where: str) -> Any:
    """What the part stands for; its arguments are built first.

    Raises:
        ValueError, TypeError: the part refused an argument; the message says where in the recipe.
    """
    found = find_part(part.use, where)
    if not part.called:
        return found
    arguments = build_value(part.arguments, where)
    try:
        return found(**arguments)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where} ({part.use}): {error}") from error


def build_value(value: Any, where: str) -> Any:
    """A YAML value in which every mapping that stands for a part is that part."""
    if is_part(value):
        return build_part(read_part(value), where)
    if isinstance(value, Mapping):
        return {name: build_value(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [build_value(item, f"{where}[{i}]") for i, item in enumerate(value)]
    return value


def build_wrapper(part: Part, where: str) -> Callable[[gym.Env], gym.Env]:
    """``env -> env``; its judges and models are built once and shared by all environments."""
    arguments = build_value(part.arguments, where)
    wrapper = find_part(part.use, where)
    return lambda env: wrapper(env, **arguments)


def build_factory(part: Part) -> Callable[[], gym.Env]:
    """Makes an environment at every call."""
    return partial(build_part, part, "env")


def build_arguments(recipe: Recipe, output_dir: str) -> Any:
    """The trainer's configuration.

    Raises:
        ValueError: a value that the configuration refuses.
    """
    wanted = {"report_to": [], "logging_steps": 1, **recipe.trainer, "output_dir": output_dir, "disable_tqdm": True}
    try:
        return config_class(recipe)(**wanted)
    except (ValueError, TypeError) as error:
        raise ValueError(f"trainer: {error}") from error


def build_peft(recipe: Recipe) -> Any:
    """The LoRA configuration, or None.

    Raises:
        ValueError: a value that it refuses.
    """
    if recipe.peft is None:
        return None
    try:
        return require("peft", "train").LoraConfig(**{"task_type": "CAUSAL_LM", **recipe.peft})
    except (ValueError, TypeError) as error:
        raise ValueError(f"peft: {error}") from error


def build_wording(recipe: SFTRecipe, tokenizer: Any) -> dict[str, Any]:
    """How a warm start writes episodes down, worded by the same configuration that words the rollouts.

    Returns:
        ``style`` and ``answer``, for `agentkit.trainers.sft.sft_trainer`.

    Raises:
        ValueError: a value that `AgentGRPOConfig` refuses, or thoughts, which demonstrations do not hold.
    """
    from agentkit.models.chat import ChatEncoder
    from agentkit.trainers import AgentGRPOConfig
    from agentkit.trainers.rollouts.styles import make_style
    from agentkit.trainers.sft import in_tags

    try:
        config = AgentGRPOConfig(output_dir="unused", use_cpu=True, bf16=False, **recipe.prompt)
    except (ValueError, TypeError) as error:
        raise ValueError(f"prompt: {error}") from error
    generated = config.action_style == "generated"
    if generated and config.thought:
        raise ValueError("prompt.thought must be false: demonstrations hold no thoughts to learn from")
    style = make_style(config.prompt_style, ChatEncoder(tokenizer), config.wording, config.window)
    return {"style": style, "answer": in_tags if generated else str}
