"""How a policy answers: an action chosen among the admissible ones, or generated text in which one is looked for."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs
import numpy as np

from agentkit.decisions import softmax
from agentkit.models.readout import ConstrainedReadout
from agentkit.models.token_tree import Item
from agentkit.trainers.rollouts.prompts import answer_ids
from agentkit.trainers.rollouts.token_episode import Choice, Tokens
from agentkit.trainers.scoring.action_trie import exact_log_probabilities

LONGEST_ACTION = 300
"""Characters of a text without tags that are handed to the environment as an action."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_ACTION = re.compile(r"<action>(.*?)</action>", re.DOTALL | re.IGNORECASE)


@attrs.frozen
class Request:
    """One live episode that waits for an answer."""

    prompt: Tokens
    info: Mapping[str, Any]
    rng: np.random.Generator
    """Of this episode alone, so that its actions do not depend on which others are played beside it."""


class ActionStyle(Protocol):
    """Answers for all live episodes at once."""

    def choose(self, requests: Sequence[Request]) -> list[Choice]:
        """One answer for each request, in order."""
        ...


class ConstrainedActions:
    """Samples among the admissible actions, each scored as a whole token sequence, its terminator included.

    Args:
        readout: the policy's language model.
        temperature: τ in p(a) = softmax_a(Σ log p(token) / τ); 0 takes the most probable action.
    """

    def __init__(self, readout: ConstrainedReadout, temperature: float = 1.0):
        self.readout, self.temperature = readout, temperature

    def choose(self, requests: Sequence[Request]) -> list[Choice]:
        """One action for each request; a single call of the model scores all of them.

        Raises:
            ValueError: an environment lists no admissible action.
        """
        items = [Item(request.prompt, self._candidates(request.info)) for request in requests]
        scored = self.readout.scorer.score(items)
        return [
            self._sample(request, item.continuations, np.array([part.sum() for part in parts]))
            for request, item, parts in zip(requests, items, scored, strict=True)
        ]

    def _candidates(self, info: Mapping[str, Any]) -> tuple[Tokens, ...]:
        actions = info["admissible_actions"]
        if not actions:
            raise ValueError(
                "info['admissible_actions'] is empty; constrained rollouts need a closed set of actions: use "
                "action_style='generated' for an open-ended environment"
            )
        return tuple(answer_ids(self.readout.encoder, action) for action in actions)

    def _sample(self, request: Request, candidates: tuple[Tokens, ...], sums: np.ndarray) -> Choice:
        scores = sums / (self.temperature or 1.0)
        probabilities = softmax(scores)
        greedy = self.temperature == 0
        index = int(np.argmax(sums)) if greedy else int(request.rng.choice(len(sums), p=probabilities))
        return Choice(
            request.info["admissible_actions"][index],
            candidates[index],
            exact_log_probabilities(candidates, scores, index).tolist(),
            probability=float(probabilities[index]),
            candidates=candidates,
        )


class TextGenerator(Protocol):
    """Continues token sequences; `agentkit.models.generation.BatchedGenerator` and vLLM do."""

    def __call__(self, prompts: Sequence[Tokens], rngs: Sequence[np.random.Generator]) -> Sequence["GeneratedText"]:
        """One continuation for each prompt."""
        ...


class GeneratedText(Protocol):
    """A sampled continuation."""

    @property
    def ids(self) -> Sequence[int]:
        """The n sampled tokens, the stop token included."""
        ...

    @property
    def log_probabilities(self) -> Sequence[float]:
        """Of each token, shape (n,), at the sampling temperature."""
        ...


class GeneratedActions:
    """Generates text and parses it for an action.

    Args:
        generate: continues all prompts at once.
        decode: token ids -> text without special tokens.
        thought: whether a thought in ``<think>`` tags must come first.
    """

    def __init__(self, generate: TextGenerator, decode: Callable[[Sequence[int]], str], thought: bool = True):
        self.generate, self.decode, self.thought = generate, decode, thought

    def choose(self, requests: Sequence[Request]) -> list[Choice]:
        """One answer for each request; what cannot be parsed goes to the environment as it is, marked invalid."""
        texts = self.generate([request.prompt for request in requests], [request.rng for request in requests])
        choices = []
        for request, text in zip(requests, texts, strict=True):
            action, valid = parse_action(self.decode(text.ids), request.info["admissible_actions"], self.thought)
            choices.append(Choice(action, tuple(text.ids), list(text.log_probabilities), valid=valid))
        return choices


def parse_action(text: str, admissible: Sequence[str], thought: bool) -> tuple[str, bool]:
    """The action in a generated text, and whether it is valid.

    Valid is an action between ``<action>`` tags that is admissible (any, where ``admissible`` is empty), after a
    closed thought where one is asked for. The last pair of tags after the thought counts; case and spacing do not. A
    text without tags is the action itself, invalid, at most its last `LONGEST_ACTION` characters.

    >>> parse_action("<think>East?</think><action>Go  east</action>", ["go east"], thought=True)
    ('go east', True)
    >>> parse_action("<action>go east</action>", ["go east"], thought=True)
    ('go east', False)
    >>> parse_action("I go east", ["go east"], thought=False)
    ('I go east', False)
    """
    thoughts = _THOUGHT.findall(text)
    found = _ACTION.findall(_THOUGHT.sub("", text))
    if not found:
        return text.strip()[-LONGEST_ACTION:], False
    action = " ".join(found[-1].split())
    if admissible:
        named = {" ".join(a.split()).lower(): a for a in admissible}.get(action.lower())
        return named or action, named is not None and (bool(thoughts) or not thought)
    return action, bool(action) and (bool(thoughts) or not thought)
