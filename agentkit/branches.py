"""Same-prefix counterfactual branches: what came of different actions in one state, and the pairs they make."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from agentkit.comparison import PREFERENCES, Comparison
from agentkit.journal import Journal

SPLITS: tuple[str, ...] = ("train", "validation", "test")
SHARES: tuple[float, ...] = (0.8, 0.1, 0.1)
"""COTA's shares of training, validation and test pairs (about those of its Table 5)."""

_TOLERANCE = 1e-9  # discounted sums of equal rewards differ in their last digits
_is_text = attrs.validators.instance_of(str)
_is_natural = [attrs.validators.instance_of(int), attrs.validators.ge(0)]
_is_split = attrs.validators.in_(SPLITS)

Label: TypeAlias = str


def preference(first: float, second: float, margin: float = 0.0) -> Label:
    """ "A" when the first return exceeds the second by more than ``margin``, "B" the other way round, else "T".

    >>> preference(1.0, 0.0), preference(0.5, 0.6, margin=0.1), preference(0.0, 1.0, margin=0.1)
    ('A', 'T', 'B')
    """
    if abs(first - second) <= margin + _TOLERANCE:
        return "T"
    return "A" if first > second else "B"


def split_of(task_id: str, shares: Sequence[float] = SHARES, seed: int = 0) -> str:
    """The split of a task, which depends on its name and the seed alone: more tasks leave it where it is.

    Raises:
        ValueError: there are not three shares that sum to 1.
    """
    if len(shares) != len(SPLITS) or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"shares must be three numbers >= 0 that sum to 1 (train, validation, test), got {shares!r}")
    digest = hashlib.sha256(repr((seed, task_id)).encode("utf-8", "surrogatepass")).digest()
    draw = int.from_bytes(digest[:6], "big") / 2**48
    if draw < shares[0]:
        return "train"
    return "validation" if draw < shares[0] + shares[1] else "test"


@attrs.frozen(kw_only=True)
class BranchPair:
    """Two actions in one state, and what the actor achieved after each."""

    goal: str = attrs.field(validator=_is_text)
    history: tuple[tuple[str, str], ...] = ()
    """The executed (action, observation) pairs before, oldest first."""
    observation: str = attrs.field(validator=_is_text)
    admissible_actions: tuple[str, ...] = ()
    a: str = attrs.field(validator=_is_text)
    b: str = attrs.field(validator=_is_text)
    label: Label = attrs.field(validator=attrs.validators.in_(PREFERENCES))
    return_a: float
    """The mean return of the continuations after ``a``."""
    return_b: float
    task_id: str = ""
    task_type: str = ""
    split: str = attrs.field(default="train", validator=_is_split)
    seed: int = 0
    """Of the episode that the state is from."""
    step: int = 0
    """How many actions led to the state."""

    @property
    def margin(self) -> float:
        """How far the returns are apart."""
        return abs(self.return_a - self.return_b)

    def swapped(self) -> "BranchPair":
        """The same pair in the other order."""
        label = {"A": "B", "B": "A", "T": "T"}[self.label]
        return attrs.evolve(self, a=self.b, b=self.a, label=label, return_a=self.return_b, return_b=self.return_a)

    def comparison(self) -> Comparison:
        """What a comparator is asked."""
        return Comparison(
            goal=self.goal,
            history=self.history,
            observation=self.observation,
            a=self.a,
            b=self.b,
            admissible_actions=self.admissible_actions,
        )


@attrs.frozen(kw_only=True)
class Branch:
    """One action of a state, and the continuations after it."""

    action: str = attrs.field(validator=_is_text)
    returns: tuple[float, ...] = ()
    """One for each continuation that came to an end."""
    steps: tuple[int, ...] = ()
    """How many actions each of them took, the branch's own included."""
    unscored: int = attrs.field(default=0, validator=_is_natural)
    """How many continuations the actor did not bring to an end, because it failed."""
    failure: str = ""
    """Why the first of those was not."""

    def __attrs_post_init__(self) -> None:
        if len(self.returns) != len(self.steps):
            raise ValueError(f"{len(self.returns)} returns but {len(self.steps)} numbers of steps; give one of each")

    @property
    def mean_return(self) -> float:
        """Over the continuations that came to an end."""
        return sum(self.returns) / len(self.returns)


@attrs.frozen(kw_only=True)
class BranchState:
    """A state of an episode, with the actor's proposal (the first branch) and its alternatives."""

    step: int = attrs.field(validator=_is_natural)
    observation: str = attrs.field(validator=_is_text)
    admissible_actions: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()


@attrs.frozen(kw_only=True)
class BranchEpisode:
    """The branches from one episode of the actor; one line of a file of branches."""

    seed: int
    settings: str = ""
    """With what it was collected."""
    margin: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    """Returns that differ by no more than this make a tie."""
    task_id: str = ""
    task_type: str = ""
    split: str = attrs.field(default="train", validator=_is_split)
    goal: str = attrs.field(default="", validator=_is_text)
    won: bool = False
    """Whether the actor's own episode was."""
    history: tuple[tuple[str, str], ...] = ()
    """The (action, observation) pairs of the whole episode; those of a state are the first ``step`` ones."""
    states: tuple[BranchState, ...] = ()
    duplicates: int = attrs.field(default=0, validator=_is_natural)
    """States that were left out, for an earlier episode has the same."""

    def pairs(self, margin: float | None = None) -> Iterator[BranchPair]:
        """The proposal (``a``) against each alternative (``b``), where both were played to an end.

        Args:
            margin: label with this instead of the recorded one.
        """
        for state in self.states:
            scored = [branch for branch in state.branches if branch.returns]
            proposal, *alternatives = state.branches
            for alternative in alternatives:
                if proposal in scored and alternative in scored:
                    yield self._pair(state, proposal, alternative, self.margin if margin is None else margin)

    def branches(self) -> Iterator[Branch]:
        """Those of all states."""
        return (branch for state in self.states for branch in state.branches)

    def _pair(self, state: BranchState, a: Branch, b: Branch, margin: float) -> BranchPair:
        return BranchPair(
            goal=self.goal,
            history=self.history[: state.step],
            observation=state.observation,
            admissible_actions=state.admissible_actions,
            a=a.action,
            b=b.action,
            label=preference(a.mean_return, b.mean_return, margin),
            return_a=a.mean_return,
            return_b=b.mean_return,
            task_id=self.task_id,
            task_type=self.task_type,
            split=self.split,
            seed=self.seed,
            step=state.step,
        )


def load_branch_episodes(path: str | os.PathLike[str]) -> list[BranchEpisode]:
    """Every episode of a file of branches, in its order; the first one of a seed that is in it twice.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is no episode of branches; the message names the file, the line and the fault.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"no file of branches {str(path)!r}; `agentkit branches --out FILE` makes one")
    episodes: dict[int, BranchEpisode] = {}
    for episode in Journal(path, BranchEpisode).entries():
        episodes.setdefault(episode.seed, episode)
    return list(episodes.values())


def load_branches(
    path: str | os.PathLike[str], split: str | None = None, margin: float | None = None
) -> list[BranchPair]:
    """The pairs in a file of branches, each once (`BranchPair.swapped` gives the other order).

    Args:
        path: what `agentkit.trainers.collect_branches` wrote.
        split: "train", "validation" or "test"; None = all.
        margin: label with this instead of the recorded one.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an unknown split, or a line that is no episode of branches.
    """
    if split is not None and split not in SPLITS:
        raise ValueError(f"no split {split!r}; choose from {', '.join(SPLITS)}")
    episodes = load_branch_episodes(path)
    return [pair for e in episodes if split in (None, e.split) for pair in e.pairs(margin)]


def common_labels(first: Sequence[BranchPair], second: Sequence[BranchPair]) -> tuple[list[Label], list[Label]]:
    """The labels of the pairs that both collections have, in the first one's order: what another actor made of them.

    Collected with the same actor, seed and candidates but another ``continuation``, all pairs of scored branches are in
    both.
    """
    labels = {_key(pair): pair.label for pair in second}
    both = [(pair.label, labels[_key(pair)]) for pair in first if _key(pair) in labels]
    return [a for a, _ in both], [b for _, b in both]


def _key(pair: BranchPair) -> tuple[Any, ...]:
    return pair.task_id, pair.goal, pair.history, pair.observation, pair.a, pair.b
