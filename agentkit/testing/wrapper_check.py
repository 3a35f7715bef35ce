"""`check_wrapper`: is a wrapper a full citizen of Gymnasium and of the text-environment contract?"""

import copy
import inspect
import json
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import RecordConstructorArgs
from gymnasium.utils.env_checker import check_env

from agentkit.envs.contract import contract_violations
from agentkit.testing.guarding import CopiedError, guarded
from agentkit.testing.pickling import pickled
from agentkit.testing.playing import Chooser, Turn, act, difference, ensure, play, replay, same, start
from agentkit.testing.scripted_env import ENV_ID
from agentkit.testing.snapshot_check import can_branch, check_snapshot
from agentkit.testing.vector_check import check_vectors

SEED = 5
STEPS = 25


def scripted_base() -> gym.Env:
    """A `ScriptedEnv` with a spec."""
    return gym.make(ENV_ID)


def check_wrapper(
    wrapper: Callable[..., gym.Env], /, base: Callable[[], gym.Env] = scripted_base, **kwargs: Any
) -> None:
    """Raise AssertionError, with one sentence, for the first thing that ``wrapper(env, **kwargs)`` does wrong.

    Checked: the recorded arguments are those of the signature; Gymnasium's `check_env` passes; `gymnasium.make`
    rebuilds the same stack from ``env.spec`` with the same arguments, and from the spec's JSON where the arguments are
    JSON values; no argument that can be called (a judge, a model) is deep-copied; it pickles, before an episode and
    within one; every info follows the contract; nothing of one episode is left in the next, nor of one that was cut by
    a reset; two copies in Sync and Async vectors, in all three autoreset modes, do what they do alone; and where the
    environment can branch, `snapshot` and `restore` take the wrapper's own state along.

    Args:
        wrapper: a wrapper class, or a function that wraps an environment.
        base: makes the environment to wrap, with a spec; by default a `ScriptedEnv`.
        kwargs: further arguments of ``wrapper``.

    >>> from gymnasium.wrappers import TimeLimit
    >>> check_wrapper(TimeLimit, max_episode_steps=3)
    """
    build = _Build(wrapper, base, kwargs)
    _check_recorded(build())
    _check_gymnasium(build())
    _check_episodes(build)
    _check_spec(build)
    _check_not_copied(build)
    _check_pickles(build)
    env = build()
    if can_branch(env):
        check_snapshot(env, SEED, _episode(env))
    check_vectors(build)


@attrs.frozen
class _Build:
    """Builds the wrapped environment."""

    wrapper: Callable[..., gym.Env]
    base: Callable[[], gym.Env]
    kwargs: Mapping[str, Any]

    def __call__(self) -> gym.Env:
        return self.wrapper(self.base(), **self.kwargs)


def _check_recorded(env: gym.Env) -> None:
    name = type(env).__name__
    ensure(isinstance(env, gym.Wrapper), f"{name} must be a gymnasium.Wrapper, so that spec, unwrapped and close work")
    ensure(
        isinstance(env, RecordConstructorArgs),
        f"{name} must inherit from gymnasium.utils.RecordConstructorArgs, or gymnasium.make cannot rebuild it",
    )
    parameters = list(inspect.signature(type(env).__init__).parameters.values())[2:]  # without self and env
    wanted = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    recorded = set(_arguments(env)) - {"env"}
    ensure(
        recorded >= wanted and (recorded == wanted or len(parameters) > len(wanted)),
        f"{name} records the arguments {sorted(recorded)}, but its signature has {sorted(wanted)}",
    )


def _arguments(env: gym.Env) -> Mapping[str, Any]:
    return getattr(env, "_saved_kwargs", {})


def _check_gymnasium(env: gym.Env) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about every wrapped environment
        try:
            check_env(env, skip_render_check=True)
        except Exception as error:
            raise AssertionError(f"gymnasium's check_env: {type(error).__name__}: {error}") from error


def _check_spec(build: _Build) -> None:
    env = build()
    ensure(env.unwrapped.spec is not None, "base must make an environment with a spec: use gymnasium.make")
    ensure(env.spec is not None, "env.spec is None: an argument cannot be deep-copied, which Gymnasium does to specs")
    spec: Any = env.spec
    turns = _episode(env)
    specs = [spec]
    if _is_json([wrapper.kwargs for wrapper in spec.additional_wrappers] + [spec.kwargs]):
        specs.append(EnvSpec.from_json(spec.to_json()))
    for source in specs:
        rebuilt = gym.make(source)
        ours, theirs = list(_stack(env)), list(_stack(rebuilt))
        ensure(same(ours, theirs), f"gymnasium.make(env.spec) builds {theirs}, but the stack was {ours}")
        fault = difference(turns, replay(rebuilt, SEED, turns))
        ensure(fault is None, f"the stack that gymnasium.make(env.spec) builds plays differently: {fault}")


def _is_json(values: Any) -> bool:
    """JSON gives the same values back (tuples, for one, come back as lists)."""
    try:
        return json.loads(json.dumps(values)) == values
    except (TypeError, ValueError):
        return False


def _stack(env: gym.Env) -> Iterator[tuple[type, Mapping[str, Any]]]:
    """The class and the recorded arguments of each layer, outermost first."""
    yield type(env), _arguments(env)
    if isinstance(env, gym.Wrapper):
        yield from _stack(env.env)


def _check_not_copied(build: _Build) -> None:
    try:
        env = attrs.evolve(build, kwargs=guarded(build.kwargs))()
        copy.deepcopy(env.spec)
        _episode(env)
    except CopiedError as error:
        raise AssertionError(
            f"the argument {error} was deep-copied, which would copy a model; "
            "record it with agentkit.wrappers.sharing.record"
        ) from error


def _check_pickles(build: _Build) -> None:
    env = build()
    turns = _episode(env)
    fault = difference(turns, replay(pickle.loads(pickled(env)), SEED, turns))
    ensure(fault is None, f"a pickled copy plays differently: {fault}")
    half = (len(turns) + 1) // 2
    replay(env, SEED, turns[:half])
    middle = pickle.loads(pickled(env))
    rest = [act(middle, turn.action) for turn in turns[half:]]
    fault = difference(turns[half:], rest)
    ensure(fault is None, f"a copy that was pickled after {half - 1} steps goes on differently: {fault}")


def _check_episodes(build: _Build) -> None:
    env = build()
    turns = _episode(env)
    for number, turn in enumerate(turns):
        faults = contract_violations(turn.info)
        ensure(not faults, f"step {number} (0 = the reset) breaks the text contract: {'; '.join(faults)}")
    _episode(env, SEED + 1)
    fault = difference(turns, replay(env, SEED, turns))
    ensure(fault is None, f"something of an earlier episode is left in the next one: {fault}")
    opening = start(env, SEED + 1)
    act(env, Chooser(env, SEED)(opening.info))
    fault = difference(turns, replay(env, SEED, turns))
    ensure(fault is None, f"something of an episode that a reset cut is left in the next one: {fault}")


def _episode(env: gym.Env, seed: int = SEED) -> list[Turn]:
    return list(play(env, seed, Chooser(env, seed), STEPS))
