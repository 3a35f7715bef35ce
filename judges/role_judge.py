"""`RoleJudge`: TRIAGE's typed credit. Each action is decisive, exploration, no-progress or regression."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Question
from agentkit.judges.asking import ask_about_all
from agentkit.judges.outcome_hiding import OUTCOME_PATTERNS, hide_outcome
from agentkit.judges.prompts import ROLE_PROMPT, ROLES, RolePrompt
from agentkit.judges.rendering import render_steps
from agentkit.trajectory import Step, Trajectory

logger = logging.getLogger(__name__)


def _check_patterns(instance: Any, attribute: "attrs.Attribute[tuple[str, ...]]", value: tuple[str, ...]) -> None:
    for pattern in value:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"outcome_patterns holds {pattern!r}, which is no regular expression: {error}") from error


@attrs.frozen
class RoleJudge:
    """``judge(trajectory) -> T role names``; None where the judge abstains (TRIAGE, arXiv 2606.32017; seeds/002).

    A segment is one action. The model sees the goal and up to ``window`` action-observation pairs on each side of it,
    and the outcome is hidden, also where an observation would give it away; see `agentkit.judges.outcome_hiding`.

    Whether the model thinks first is the model's own setting: ``Prompted.local(model, tokenizer, thinking=True)`` or
    ``Prompted.server(...)``. TRIAGE needs it: without thoughts the F1 of regression inside successes falls from 86.1 to
    29.2. A `ConstrainedReadout` scores the role names at once and never thinks.

    Args:
        model: a decision model.
        window: pairs shown before and after the action; TRIAGE uses 5.
        threshold: below this probability of the chosen role the judge abstains.
        name: the judge's name.
        prompt: the templates.
        outcome_patterns: regular expressions; lines of observations that one of them touches are left out.

    Raises:
        ValueError: a negative window, a threshold outside [0, 1], or a pattern that is no regular expression.
    """

    model: DecisionModel
    window: int = attrs.field(default=5, validator=attrs.validators.ge(0))
    threshold: float = attrs.field(default=0.0, validator=[attrs.validators.ge(0.0), attrs.validators.le(1.0)])
    name: str = "roles"
    prompt: RolePrompt = attrs.field(
        default=ROLE_PROMPT, kw_only=True, validator=attrs.validators.instance_of(RolePrompt)
    )
    outcome_patterns: tuple[str, ...] = attrs.field(
        default=OUTCOME_PATTERNS, kw_only=True, converter=tuple, validator=_check_patterns
    )

    def __call__(self, trajectory: Trajectory) -> list[str | None]:
        """T role names, asked in one batch."""
        return self.judge_all([trajectory])[0]

    def judge_all(self, trajectories: Sequence[Trajectory]) -> list[list[str | None]]:
        """T role names for each trajectory, all asked in one batch. Abstentions are counted in the log."""
        decisions = ask_about_all(self.model, self.queries, trajectories)
        self._report([decision for column in decisions for decision in column])
        return [[None if self._abstains(d) else d.choice for d in column] for column in decisions]

    def queries(self, trajectory: Trajectory) -> list[Query]:
        """What is asked about each action, in order."""
        steps = hide_outcome(trajectory.steps, self.outcome_patterns)
        return [self._query(trajectory.goal, steps, t) for t in range(len(steps))]

    def _query(self, goal: str, steps: Sequence[Step], t: int) -> Query:
        first = max(0, t - self.window)
        # Numbered from the window's start: the number in the episode would tell how close its limit was.
        shown = render_steps(self.prompt.step, steps[first : t + 1 + self.window])
        start = self.prompt.start.format(observation=steps[0].observation) if first == 0 else ""
        parts = (self.prompt.goal.format(goal=goal), start, "\n".join(shown))
        text = self.prompt.question.format(n=t - first + 1, action=steps[t].action, goal=goal)
        context = "\n\n".join(part for part in parts if part)
        return Query(context, Question(text, "choice", ROLES), self.prompt.system, focus=(shown[t - first],))

    def _abstains(self, decision: Decision) -> bool:
        return not decision.probabilities or max(decision.probabilities) < self.threshold

    def _report(self, decisions: Sequence[Decision]) -> None:
        unanswered = Counter(decision.unscored for decision in decisions if decision.unscored is not None)
        unsure = sum(map(self._abstains, decisions)) - unanswered.total()
        if unanswered:
            reason = unanswered.most_common(1)[0][0]
            logger.warning(
                "%s: no answer on %d of %d actions, mostly: %s", self.name, unanswered.total(), len(decisions), reason
            )
        if unsure:
            logger.info("%s: unsure about %d of %d actions", self.name, unsure, len(decisions))
