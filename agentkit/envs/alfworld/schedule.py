"""Which game an episode plays: a pure function of the seed, or the next one of a seeded epoch."""

import numpy as np

# Any fixed number will do; it only keeps these permutations apart from others drawn with the same epoch number.
_SALT = 0xA1F


def game_of_seed(seed: int, num_games: int) -> int:
    """Index of the game that ``reset(seed=seed)`` plays, in 0 … num_games - 1.

    Consecutive seeds walk through seeded permutations: seeds ``k n`` to ``k n + n - 1`` play each of the n games once.

    >>> sorted(game_of_seed(seed, 5) for seed in range(5, 10))
    [0, 1, 2, 3, 4]
    """
    epoch, position = divmod(seed, num_games)
    return int(np.random.default_rng([_SALT, epoch]).permutation(num_games)[position])


class EpochOrder:
    """Walks over all games in a random order, then over all of them in another one, and so on.

    Args:
        num_games: n, at least 1.
        rng: source of the permutations; the same state of it gives the same walk.
        first: the game that the first epoch begins with; None = the permutation decides.
    """

    def __init__(self, num_games: int, rng: np.random.Generator, first: int | None = None):
        self._rng = rng
        # 32-bit numbers: a thousand environments over a full training split keep an order each.
        self._order = rng.permutation(num_games).astype(np.int32)
        self._position = 0
        if first is not None:
            place = int(np.flatnonzero(self._order == first)[0])
            self._order[[0, place]] = self._order[[place, 0]]

    def next(self) -> int:
        """Index of the next game."""
        if self._position == len(self._order):
            self._order, self._position = self._rng.permutation(self._order), 0
        self._position += 1
        return int(self._order[self._position - 1])
