"""`StepJudge`: asks a decision model about every action of a trajectory."""

from collections.abc import Sequence

import attrs

from agentkit.decisions import DecisionModel, Query, Question, Verdict
from agentkit.judges.asking import ask_about_all
from agentkit.judges.prompts import QUESTIONS, STEP_PROMPT, StepPrompt, question_template
from agentkit.judges.rendering import first_observation, render_steps
from agentkit.judges.visibility import Context, FractionOf, as_context, visible_steps
from agentkit.trajectory import Trajectory


def _default_name(judge: "StepJudge") -> str:
    return f"{judge.context}-{judge.question}" if judge.question in QUESTIONS else str(judge.context)


@attrs.frozen
class StepJudge:
    """One score in [0, 1] for each action: the model's probability of "yes" (*Actor, Judge, or Teacher?*, seeds/000).

    Args:
        model: a decision model, ``model(queries) -> decisions``.
        context: what the model sees. ``"prefix"``: everything before the action; ``"prefix+feedback"``: also what it
            led to; a share in (0, 1): also that share of what follows; ``"hindsight"``: the whole trajectory.
        question: ``"progress"``, ``"value"``, or a text of your own with ``{action}`` (or ``{n}``, its number) and
            ``{goal}``, to be answered yes or no.
        name: the name under which the scores are kept.
        prompt: the templates of what stands before the question.
        fraction_of: what a share is of: ``"future"``, the steps after the action, or ``"trajectory"``; see
            `agentkit.judges.visibility.visible_steps`.

    A decision that is unscored (time-out, refusal) gives an unscored verdict with the same reason. The queries of one
    trajectory begin alike (in hindsight they differ in the question only), so that a local model encodes it once.

    Raises:
        ValueError: an unknown context, or a question with an unknown placeholder or none that tells the action.
    """

    model: DecisionModel
    context: Context = attrs.field(default="hindsight", converter=as_context)
    question: str = "progress"
    name: str = attrs.field(default=attrs.Factory(_default_name, takes_self=True))
    prompt: StepPrompt = attrs.field(
        default=STEP_PROMPT, kw_only=True, validator=attrs.validators.instance_of(StepPrompt)
    )
    fraction_of: FractionOf = attrs.field(
        default="future", kw_only=True, validator=attrs.validators.in_(("future", "trajectory"))
    )

    def __attrs_post_init__(self) -> None:
        question_template(self.question, action_shown=self.context != "prefix")

    def __call__(self, trajectory: Trajectory) -> list[Verdict]:
        """T verdicts, asked in one batch."""
        return self.judge_all([trajectory])[0]

    def judge_all(self, trajectories: Sequence[Trajectory]) -> list[list[Verdict]]:
        """T verdicts for each trajectory, all asked in one batch."""
        return [[d.verdict() for d in column] for column in ask_about_all(self.model, self.queries, trajectories)]

    def score_last(self, trajectory: Trajectory) -> Verdict:
        """The last action's verdict alone, which is all that an online wrapper needs after a step."""
        return self.score_last_all([trajectory])[0]

    def score_last_all(self, trajectories: Sequence[Trajectory]) -> list[Verdict]:
        """The verdict on each trajectory's last action, all asked in one batch.

        Raises:
            ValueError: a trajectory has no steps.
        """
        empty = [i for i, trajectory in enumerate(trajectories) if not len(trajectory)]
        if empty:
            raise ValueError(f"trajectory {empty[0]} has no steps, so there is no last action to score")
        return [column[0].verdict() for column in ask_about_all(self.model, self._last_query, trajectories)]

    def queries(self, trajectory: Trajectory) -> list[Query]:
        """What is asked about each action, in order."""
        return self._queries(trajectory, range(len(trajectory)))

    def _last_query(self, trajectory: Trajectory) -> list[Query]:
        return self._queries(trajectory, [len(trajectory) - 1])

    def _queries(self, trajectory: Trajectory, indices: Sequence[int]) -> list[Query]:
        opening = self.prompt.opening.format(goal=trajectory.goal, observation=first_observation(trajectory))
        rendered = render_steps(self.prompt.step, trajectory.steps)
        template = question_template(self.question, action_shown=self.context != "prefix")
        queries = []
        for t in indices:
            shown = rendered[: visible_steps(self.context, t, len(rendered), self.fraction_of)]
            context = "\n\n".join(part for part in (opening, "\n".join(shown)) if part)
            text = template.format(n=t + 1, action=trajectory.steps[t].action, goal=trajectory.goal)
            # The step itself, or, when it is not shown, the one that led to what the agent saw when it acted.
            focus = (rendered[min(t, len(shown) - 1)],) if shown else ()
            queries.append(Query(context, Question(text), self.prompt.system, focus))
        return queries
