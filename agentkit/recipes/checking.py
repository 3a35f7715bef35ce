"""Everything about a recipe that can be known to be wrong before a model is loaded."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from agentkit.extras import require
from agentkit.recipes.fields import check_fields
from agentkit.recipes.naming import check_arguments, find_part, suggestion
from agentkit.recipes.reading import is_part, read_part
from agentkit.recipes.recipe import PROMPT_KEYS, DecisionRecipe, GRPORecipe, Part, Recipe, SFTRecipe

MAKE = "gymnasium:make"
MAKE_TAKES = ("max_episode_steps", "disable_env_checker")
"""Arguments that ``gymnasium.make`` takes for itself."""


def check_recipe(recipe: Recipe) -> None:
    """Check names, keys and types, down to the arguments of every part.

    Raises:
        ValueError: something is wrong; the message says where.
        ImportError: an extra that a part needs is missing; the message holds the pip line.
    """
    check_fields(config_class(recipe), recipe.trainer, "trainer")
    if recipe.peft is not None:
        check_fields(require("peft", "train").LoraConfig, recipe.peft, "peft")
    if isinstance(recipe, GRPORecipe):
        check_environment(recipe.env, "env")
        for i, part in enumerate(recipe.wrappers):
            check_part(part, f"wrappers[{i}]", given=1)
        for i, part in enumerate(recipe.terms):
            check_part(part, f"terms[{i}]")
    elif isinstance(recipe, SFTRecipe):
        _check_prompt(recipe.prompt)
    elif isinstance(recipe.examples, Part):
        check_part(recipe.examples, "examples")


def config_class(recipe: Recipe) -> type:
    """The configuration class that the recipe's ``trainer`` keys belong to."""
    if isinstance(recipe, SFTRecipe):
        return require("trl", "train").SFTConfig
    from agentkit import trainers

    return trainers.DecisionConfig if isinstance(recipe, DecisionRecipe) else trainers.AgentGRPOConfig


def check_part(part: Part, where: str, given: int = 0) -> None:
    """Check a part and, inside its arguments, every other one.

    Raises:
        ValueError: an unknown name, or an argument that is unknown or missing.
    """
    found = find_part(part.use, where)
    if part.called:
        check_arguments(found, part.arguments, f"{where} ({part.use})", given)
    for name, value in part.arguments.items():
        _check_value(value, f"{where}.{name}")


def check_environment(part: Part, where: str) -> None:
    """Check an environment, whose arguments are those of its class where it is a registered one.

    Raises:
        ValueError: an unknown id or an argument that the environment does not take.
    """
    if part.use != MAKE:
        check_part(part, where)
        return
    arguments = dict(part.arguments)
    env_id = arguments.pop("id", None)
    if not isinstance(env_id, str):
        raise ValueError(f"{where}.id must be the id of a registered environment, got {env_id!r}")
    spec = find_environment(env_id, where)
    creator: Any = spec.entry_point
    if isinstance(creator, str):
        creator = load_env_creator(creator)
    own = {name: value for name, value in arguments.items() if name not in MAKE_TAKES}
    check_arguments(creator, {**spec.kwargs, **own}, f"{where} ({env_id})")
    for name, value in arguments.items():
        _check_value(value, f"{where}.{name}")


def find_environment(env_id: str, where: str) -> Any:
    """The registered specification.

    Raises:
        ValueError: there is none of that id.
    """
    import agentkit  # noqa: F401 - registers the environments

    try:
        return gym.spec(env_id)
    except gym.error.Error as error:
        near = suggestion(env_id, gym.registry)
        ours = ", ".join(sorted(name for name in gym.registry if name.startswith("agentkit/")))
        raise ValueError(f"{where}.id: no environment {env_id!r}{near}; agentkit has {ours}") from error
    except ModuleNotFoundError as error:
        raise ValueError(f"{where}.id: cannot import the module of {env_id!r}: {error}") from error


def _check_value(value: Any, where: str) -> None:
    if is_part(value):
        try:
            part = read_part(value)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from error
        check_part(part, where)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_value(item, f"{where}.{name}")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_value(item, f"{where}[{i}]")


def _check_prompt(prompt: Mapping[str, Any]) -> None:
    for name in prompt:
        if name not in PROMPT_KEYS:
            raise ValueError(f"prompt: unknown key {name!r}{suggestion(name, PROMPT_KEYS)}")
    from agentkit.trainers import AgentGRPOConfig

    check_fields(AgentGRPOConfig, prompt, "prompt")
