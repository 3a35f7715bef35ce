"""`ComparatorGateWrapper`: COTA's gate, which withholds a proposed action and advises, or replaces it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentkit.comparison import PREFERENCES, Comparator, Comparison
from agentkit.envs.contract import check_action
from agentkit.wrappers.branching import BranchingWrapper, WrapperSnapshot
from agentkit.wrappers.sharing import record, resolve

logger = logging.getLogger(__name__)

Candidates: TypeAlias = Callable[[str, Mapping[str, Any], str, int], Sequence[str]]
"""``candidates(observation, info, proposal, k) -> actions``"""


class ComparatorGateWrapper(BranchingWrapper, RecordConstructorArgs):
    """Compares a proposed action with K alternatives before it is executed (COTA, arXiv 2608.21027).

    Each alternative is compared with the proposal in both orders and counts as preferred only when it wins both. When
    at least ``r`` of the ``k`` alternatives are preferred, the gate intervenes:

    * *constructive*: ``step`` withholds the proposal. It returns the same observation with the preferred alternatives
      as non-binding advice, reward 0, and ``info["gate"]["withheld"]`` is True; the environment is not stepped, so a
      ``TimeLimit`` *inside* the gate counts executed steps only. After ``rounds`` interventions in one state the next
      proposal goes through, whatever it is.
    * *forced*: the first preferred alternative is executed instead.

    ``info["gate"]`` on every step: ``withheld``, ``proposal``, ``executed`` (None when withheld), ``preferred``
    (tuple), ``round`` (interventions in this state before this proposal), ``interventions`` (states with intervention
    in this episode so far) and ``advice`` (``None``, or what became of the advice given in this state: ``"followed"``,
    ``"reproposed"`` or ``"ignored"``). The last one of an episode also has ``totals``: ``steps``, ``withheld``,
    ``interventions``, ``comparisons``, ``failures``, ``followed``, ``reproposed``, ``ignored``.

    Args:
        env: a text environment.
        comparator: ``comparator(comparisons) -> "A" | "B" | "T"`` for each, or an import string. One that raises lets
            the proposal through and counts as a failure.
        candidates: ``candidates(observation, info, proposal, k) -> actions``; None = ``k`` of the environment's
            admissible actions, drawn without replacement. The proposal itself is never a candidate.
        k: the most alternatives to compare with.
        r: how many must be preferred. COTA's settings: K=4, R=1 "active"; K=8, R=2 "medium"; K=4, R=4 "cautious".
        mode: ``"constructive"`` or ``"forced"``.
        budget: the most states with intervention in an episode; None = no limit.
        rounds: the most interventions in one state (constructive).
    """

    _episode_fields = (
        "_history",
        "_totals",
        "_observation",
        "_info",
        "_ended",
        "_round",
        "_advised",
        "_withheld",
        "_rng",
    )
    _ended = True  # nothing is withheld before the first reset: the environment says what is wrong
    _advised: tuple[str, ...]
    _withheld: tuple[str, ...]

    def __init__(
        self,
        env: gym.Env,
        comparator: Comparator | str,
        candidates: Candidates | str | None = None,
        k: int = 4,
        r: int = 1,
        mode: Literal["constructive", "forced"] = "constructive",
        budget: int | None = None,
        rounds: int = 1,
    ):
        RecordConstructorArgs.__init__(
            self,
            comparator=record(comparator),
            candidates=record(candidates),
            k=k,
            r=r,
            mode=mode,
            budget=budget,
            rounds=rounds,
        )
        BranchingWrapper.__init__(self, env)
        _check_settings(k, r, mode, budget, rounds)
        self.comparator: Comparator = resolve(comparator, "comparator")
        self.candidates: Candidates = resolve(candidates, "candidates") or self._admissible
        self.k, self.r, self.mode, self.budget, self.rounds = k, r, mode, budget, rounds
        self._rng = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._history: list[tuple[str, str]] = []
        names = ("steps", "withheld", "interventions", "comparisons", "failures", "followed", "reproposed", "ignored")
        self._totals = dict.fromkeys(names, 0)
        self._arrive(observation, info)
        return observation, info

    def step(self, action: str):
        check_action(action)
        preferred = self._preferred(action)
        intervene = len(preferred) >= self.r
        if intervene and self._round == 0:
            self._totals["interventions"] += 1
        if intervene and self.mode == "constructive":
            return self._withhold(action, preferred)
        executed = preferred[0] if intervene else action
        observation, reward, terminated, truncated, info = self.env.step(executed)
        gate = self._report(action, executed, preferred)
        self._totals["steps"] += 1
        if gate["advice"] is not None:
            self._totals[gate["advice"]] += 1
        if terminated or truncated:
            gate["totals"] = dict(self._totals)
        self._history.append((executed, observation))
        self._arrive(observation, info, ended=terminated or truncated)
        return observation, reward, terminated, truncated, {**info, "gate": gate}

    def _arrive(self, observation: str, info: Mapping[str, Any], ended: bool = False) -> None:
        """A new decision state."""
        self._observation, self._info, self._ended = observation, info, ended
        self._round, self._advised, self._withheld = 0, (), ()

    def _restore(self, snapshot: WrapperSnapshot):
        observation, info = super()._restore(snapshot)
        if self._round == 0:
            return observation, info
        return with_advice(observation, self._withheld[-1], self._advised), info

    def _may_intervene(self) -> bool:
        if self._ended:
            return False
        if self.budget is not None and self._round == 0 and self._totals["interventions"] >= self.budget:
            return False
        return self._round < self.rounds

    def _preferred(self, proposal: str) -> tuple[str, ...]:
        """The alternatives that win against the proposal in both orders; none where the gate may not intervene."""
        if not self._may_intervene():
            return ()
        drawn = self.candidates(self._observation, self._info, proposal, self.k)
        alternatives = [a for a in dict.fromkeys(drawn) if a != proposal][: self.k]
        if not alternatives:
            return ()
        goal, history = self._info.get("goal", ""), tuple(self._history)
        pairs = [(proposal, a) for a in alternatives] + [(a, proposal) for a in alternatives]
        comparisons = [Comparison(goal, history, self._observation, a, b) for a, b in pairs]
        self._totals["comparisons"] += len(comparisons)
        answers = self._ask(comparisons)
        forward, backward = answers[: len(alternatives)], answers[len(alternatives) :]
        return tuple(
            a for a, first, second in zip(alternatives, forward, backward, strict=True) if (first, second) == ("B", "A")
        )

    def _ask(self, comparisons: Sequence[Comparison]) -> Sequence[str]:
        """One answer each; ties for all when the comparator fails, so that the proposal goes through."""
        try:
            answers = list(self.comparator(comparisons))
        except Exception as error:
            self._totals["failures"] += 1
            logger.warning("comparator failed, the proposal goes through: %r", error)
            return ["T"] * len(comparisons)
        if len(answers) != len(comparisons) or any(answer not in PREFERENCES for answer in answers):
            count = len(comparisons)
            raise ValueError(f"the comparator must return 'A', 'B' or 'T' for each of {count} pairs, got {answers!r}")
        return answers

    def _withhold(self, proposal: str, preferred: tuple[str, ...]):
        self._totals["withheld"] += 1
        gate = self._report(proposal, None, preferred)
        self._round += 1
        self._advised, self._withheld = preferred, (*self._withheld, proposal)
        info = {**self._info, "state_changed": False, "milestones": (), "gate": gate}
        return with_advice(self._observation, proposal, preferred), 0.0, False, False, info

    def _report(self, proposal: str, executed: str | None, preferred: tuple[str, ...]) -> dict[str, Any]:
        return {
            "withheld": executed is None,
            "proposal": proposal,
            "executed": executed,
            "preferred": preferred,
            "round": self._round,
            "interventions": self._totals["interventions"],
            "advice": self._fate_of_advice(executed),
        }

    def _fate_of_advice(self, executed: str | None) -> str | None:
        if executed is None or not self._advised:
            return None
        if executed in self._advised:
            return "followed"
        return "reproposed" if executed in self._withheld else "ignored"

    def _admissible(self, observation: str, info: Mapping[str, Any], proposal: str, k: int) -> list[str]:
        others = [a for a in info.get("admissible_actions", ()) if a != proposal]
        drawn = self._rng.choice(len(others), size=min(k, len(others)), replace=False) if others else []
        return [others[i] for i in drawn]


def with_advice(observation: str, proposal: str, preferred: Sequence[str]) -> str:
    """The observation, followed by advice that does not bind."""
    listed = ", ".join(f"'{action}'" for action in preferred)
    advice = f"Advice (you may ignore it): instead of '{proposal}', consider {listed}. Choose your action."
    return f"{observation}\n\n{advice}"


def _check_settings(k: int, r: int, mode: str, budget: int | None, rounds: int) -> None:
    if k < 1 or not 1 <= r <= k:
        raise ValueError(f"need k >= 1 and 1 <= r <= k, got k={k}, r={r}")
    if mode not in ("constructive", "forced"):
        raise ValueError(f"mode must be 'constructive' or 'forced', got {mode!r}")
    if budget is not None and budget < 0:
        raise ValueError(f"budget must be at least 0 or None, got {budget}")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
