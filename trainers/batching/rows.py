"""The sequences of many episodes as rows of one training batch."""

import math
from collections.abc import Sequence

import attrs
import torch

from agentkit.credit import Floats
from agentkit.trainers.rollouts.token_episode import TokenEpisode, TokenSample


@attrs.frozen
class Row:
    """One sequence, and the episode that it belongs to."""

    sample: TokenSample
    episode: int | None = None
    """Index among this process's episodes; None for a row that only fills the batch up."""
    episode_return: float = math.nan
    """On the first row of each episode, so that each counts once in TRL's statistics; NaN on the others."""


def rows_of(episodes: Sequence[TokenEpisode]) -> list[Row]:
    """All sequences of all episodes, in order."""
    return [
        Row(sample, i, episode.trajectory.total_reward if first == 0 else math.nan)
        for i, episode in enumerate(episodes)
        for first, sample in enumerate(episode.samples)
    ]


def fill(rows: Sequence[Row], count: int, padding: int) -> list[Row]:
    """The rows, filled up with empty ones to ``count``."""
    return [*rows, *(Row(TokenSample.empty(padding)) for _ in range(count - len(rows)))]


def batch_size(most_rows: int, chunks: int, group_size: int) -> int:
    """The number of rows of every process: TRL splits them into equal chunks and views all of them in groups.

    >>> batch_size(most_rows=13, chunks=2, group_size=4)
    16
    """
    multiple = math.lcm(chunks, group_size)
    return max(1, math.ceil(most_rows / multiple)) * multiple


def token_advantages(rows: Sequence[Row], steps: Sequence[Floats], width: int) -> torch.Tensor:
    """Step advantages of each episode, E arrays (T_i,), as float32 (R, width); 0 at tokens of no step."""
    result = torch.zeros(len(rows), width)
    for i, row in enumerate(rows):
        if row.episode is not None:
            values = torch.as_tensor(row.sample.token_values(steps[row.episode]), dtype=torch.float32)
            result[i, : len(values)] = values
    return result
