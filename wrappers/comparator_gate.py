"""`ComparatorGateWrapper`: COTA's gate, which withholds a proposed action and advises, or replaces it."""

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from agentkit.advice import with_advice
from agentkit.comparison import Comparator, Comparison
from agentkit.envs.contract import check_action
from agentkit.examination import Candidates, Examination, copeland_wins, examine, propose_alternatives
from agentkit.wrappers.branching import BranchingWrapper, WrapperSnapshot
from agentkit.wrappers.sharing import record, resolve

TOTALS: tuple[str, ...] = (
    "steps",
    "withheld",
    "interventions",
    "comparisons",
    "failures",
    "unanswered",
    "followed",
    "reproposed",
    "ignored",
)


class ComparatorGateWrapper(BranchingWrapper, RecordConstructorArgs):
    """Compares a proposed action with K alternatives before it is executed (COTA, arXiv 2608.21027).

    Each alternative is compared with the proposal in both orders and counts as preferred only when it wins both. When
    at least ``r`` of the ``k`` alternatives are preferred (a reading: the paper names R without defining it), the gate
    intervenes:

    * *constructive*: ``step`` withholds the proposal. It returns the same observation with the preferred alternatives
      as non-binding advice, reward 0, and ``info["gate"]["withheld"]`` is True; the environment is not stepped. A
      proposal that follows the advice goes through, and after ``rounds`` interventions in one state so does any other.
    * *forced*: the best preferred alternative is executed instead: the one that wins most comparisons with the others,
      the first of equals.

    ``info["gate"]`` on every step (resets have none): ``withheld``, ``proposal``, ``executed`` (None when withheld),
    ``alternatives`` and ``preferred`` (tuples), ``margin`` (see `Examination`), ``failed`` (the comparator or the
    candidates left something unanswered), ``round`` (interventions in this state before this proposal),
    ``interventions`` (states with intervention in this episode so far) and ``advice``: None, or what this proposal
    makes of the advice given in this state: ``"followed"``, ``"reproposed"`` (an action that was withheld here) or
    ``"ignored"``. The last one of an episode also has the `totals`.

    A ``TimeLimit`` belongs *inside* the gate, where ``gymnasium.make(..., max_episode_steps=...)`` puts it: there it
    counts executed steps only. Outside it would count withheld proposals, too, and cut the episode without ``totals``
    in its last info; the property `totals` has them even then.

    Args:
        env: a text environment.
        comparator: ``comparator(comparisons) -> "A" | "B" | "T"`` for each (None for one that it could not answer), or
            an import string. What it fails to answer, in whatever way, makes no alternative preferred, so that the
            proposal goes through, and is counted.
        candidates: ``candidates(observation, info, proposal, k) -> actions``, whose info has the executed (action,
            observation) pairs under ``"history"``; None = ``k`` of the environment's admissible actions, drawn without
            replacement. The proposal itself is never a candidate.
        k: the most alternatives to compare with.
        r: how many must be preferred. COTA's settings: K=4, R=1 "active"; K=8, R=2 "medium"; K=4, R=4 "cautious".
        mode: ``"constructive"`` or ``"forced"``.
        budget: the most states with intervention in an episode (COTA's B); None = no limit.
        rounds: the most interventions in one state (constructive).

    Raises:
        ValueError, TypeError: a setting is wrong; the message names it and its value.
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
        "_examined",
        "_waived",
        "_advice_info",
        "_rng",
    )
    _ended = True  # nothing is withheld before the first reset: the environment says what is wrong

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
        self.comparator: Comparator = _callable(resolve(comparator, "comparator"), "comparator")
        source = self._admissible if candidates is None else resolve(candidates, "candidates")
        self.candidates: Candidates = _callable(source, "candidates")
        self.k, self.r, self.mode, self.budget, self.rounds = k, r, mode, budget, rounds
        self._rng = np.random.default_rng()
        self._totals = dict.fromkeys(TOTALS, 0)
        self._arrive("", {}, ended=True)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._history: list[tuple[str, str]] = []
        self._totals = dict.fromkeys(TOTALS, 0)
        self._arrive(observation, info)
        return observation, info

    def step(self, action: str):
        known = self._examined is not None and self._examined.proposal == action
        # What goes through whatever the comparator says need not be compared.
        examination = self.examine(action) if known or not self._waived else Examination(proposal=check_action(action))
        intervene = self._would_intervene(examination) and not self._waived
        if intervene and self._round == 0:
            self._totals["interventions"] += 1
        if intervene and self.mode == "constructive":
            return self._withhold(examination)
        executed = self._best(examination) if intervene else action
        observation, reward, terminated, truncated, info = self.env.step(executed)
        gate = self._report(examination, executed)
        self._totals["steps"] += 1
        if terminated or truncated:
            gate["totals"] = self.totals
        self._history.append((executed, observation))
        self._arrive(observation, info, ended=terminated or truncated)
        return observation, reward, terminated, truncated, {**info, "gate": gate}

    @property
    def totals(self) -> dict[str, int]:
        """What happened in the episode so far.

        ``steps`` were executed; ``withheld`` proposals were not; ``interventions`` counts states with intervention;
        ``comparisons`` were asked for, ``unanswered`` of them without a usable answer, in ``failures`` proposals;
        of the proposals that came after advice, so many had ``followed`` it, ``reproposed`` what was withheld, or
        ``ignored`` both.
        """
        return dict(self._totals)

    @property
    def budget_left(self) -> float:
        """How many more states may see an intervention in this episode; infinite without a budget."""
        return float("inf") if self.budget is None else float(self.budget - self._totals["interventions"])

    def examine(self, proposal: str) -> Examination:
        """What the comparator says about a proposal in this state; asked at most once, and no step is spent.

        Raises:
            TypeError: the proposal, or a candidate, is not a str.
        """
        check_action(proposal)
        if self._examined is None or self._examined.proposal != proposal:
            self._examined = self._examination(proposal)
            self._totals["comparisons"] += self._examined.comparisons
            self._totals["unanswered"] += self._examined.unanswered
            self._totals["failures"] += self._examined.failed
        return self._examined

    def would_intervene(self, proposal: str) -> bool:
        """Whether a ``step`` with this proposal is to be an intervention."""
        return self._would_intervene(self.examine(proposal))

    def let_through(self) -> None:
        """Let the next proposal through, whatever the comparator says: how a router stops the gate."""
        self._waived = True

    def _would_intervene(self, examination: Examination) -> bool:
        return len(examination.preferred) >= self.r

    def _arrive(self, observation: str, info: Mapping[str, Any], ended: bool = False) -> None:
        """Start from a decision state that has seen no intervention."""
        self._observation, self._info, self._ended = observation, info, ended
        self._round = 0
        self._advised: tuple[str, ...] = ()
        self._withheld: tuple[str, ...] = ()
        self._examined: Examination | None = None
        self._waived = False
        self._advice_info: dict[str, Any] = {}

    def _restore(self, snapshot: WrapperSnapshot):
        observation, info = super()._restore(snapshot)
        if self._round == 0:
            return observation, info
        return with_advice(observation, self._withheld[-1], self._advised), {**info, **self._advice_info}

    def _may_intervene(self, proposal: str) -> bool:
        if self._ended or proposal in self._advised:
            return False
        return self._round < self.rounds and (self._round > 0 or self.budget_left > 0)

    def _examination(self, proposal: str) -> Examination:
        """Nothing is compared where the gate may not intervene anyway."""
        if not self._may_intervene(proposal):
            return Examination(proposal=proposal)
        info = {**self._info, "history": tuple(self._history)}
        alternatives = propose_alternatives(self.candidates, self._observation, info, proposal, self.k)
        if not alternatives:
            return Examination(proposal=proposal, failed=alternatives is None)
        return examine(self.comparator, self._state(proposal), proposal, alternatives)

    def _best(self, examination: Examination) -> str:
        """The first of those that beat most of the other preferred alternatives."""
        preferred = examination.preferred
        wins = copeland_wins(self.comparator, self._state(examination.proposal), preferred)
        self._totals["comparisons"] += len(preferred) * (len(preferred) - 1)
        return max(preferred, key=lambda action: wins[action])

    def _state(self, proposal: str) -> Comparison:
        return Comparison(
            goal=self._info.get("goal", ""),
            history=self._history,
            observation=self._observation,
            a=proposal,
            b=proposal,
            admissible_actions=self._info.get("admissible_actions", ()),
        )

    def _withhold(self, examination: Examination):
        self._totals["withheld"] += 1
        gate = self._report(examination, None)
        self._round += 1
        self._advised, self._withheld = examination.preferred, (*self._withheld, examination.proposal)
        self._examined = None
        # Nothing was done, so what the last action led to must not be read a second time.
        self._advice_info = {"state_changed": False, "milestones": (), "gate": gate}
        self._advice_info |= {key: none for key, none in _OF_LAST_ACTION.items() if key in self._info}
        observation = with_advice(self._observation, examination.proposal, examination.preferred)
        return observation, 0.0, False, False, {**self._info, **self._advice_info}

    def _report(self, examination: Examination, executed: str | None) -> dict[str, Any]:
        advice = self._fate_of_advice(examination.proposal)
        if advice is not None:
            self._totals[advice] += 1
        return {
            "withheld": executed is None,
            "proposal": examination.proposal,
            "executed": executed,
            "alternatives": examination.alternatives,
            "preferred": examination.preferred,
            "margin": examination.margin,
            "failed": examination.failed,
            "round": self._round,
            "interventions": self._totals["interventions"],
            "advice": advice,
        }

    def _fate_of_advice(self, proposal: str) -> str | None:
        if not self._advised:
            return None
        if proposal in self._advised:
            return "followed"
        return "reproposed" if proposal in self._withheld else "ignored"

    def _admissible(self, observation: str, info: Mapping[str, Any], proposal: str, k: int) -> list[str]:
        others = [a for a in info.get("admissible_actions", ()) if a != proposal]
        drawn = self._rng.choice(len(others), size=min(k, len(others)), replace=False) if others else []
        return [others[i] for i in drawn]


_OF_LAST_ACTION: Mapping[str, Any] = {"raw_reward": 0.0, "oracle_role": None}
"""What infos say of the last action beside the contract, and what they say where there was none."""


def _callable(value: Any, name: str) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be callable, or a string 'package.module:attribute', got {value!r}")
    return value


def _check_settings(k: int, r: int, mode: str, budget: int | None, rounds: int) -> None:
    for name, value in (("k", k), ("r", r), ("budget", budget), ("rounds", rounds)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
    if k < 1 or not 1 <= r <= k:
        raise ValueError(f"need k >= 1 and 1 <= r <= k, got k={k}, r={r}")
    if mode not in ("constructive", "forced"):
        raise ValueError(f"mode must be 'constructive' or 'forced', got {mode!r}")
    if budget is not None and budget < 0:
        raise ValueError(f"budget must be at least 0 or None, got {budget}")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
