import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentkit.envs.alfworld.schedule import EpochOrder, game_of_seed


@given(st.integers(1, 40), st.integers(0, 5))
def test_consecutive_seeds_play_every_game_once(num_games: int, epoch: int) -> None:
    seeds = range(epoch * num_games, (epoch + 1) * num_games)
    assert sorted(game_of_seed(seed, num_games) for seed in seeds) == list(range(num_games))


def test_epochs_differ() -> None:
    first, second = ([game_of_seed(seed, 30) for seed in range(start, start + 30)] for start in (0, 30))
    assert first != second


@given(st.integers(1, 30), st.integers(0, 2**32), st.data())
def test_an_order_visits_every_game_once_an_epoch_beginning_with_the_first(
    num_games: int, seed: int, data: st.DataObject
) -> None:
    first = data.draw(st.none() | st.integers(0, num_games - 1))
    order = EpochOrder(num_games, np.random.default_rng(seed), first)
    walk = [order.next() for _ in range(3 * num_games)]
    for start in range(0, len(walk), num_games):
        assert sorted(walk[start : start + num_games]) == list(range(num_games))
    if first is not None:
        assert walk[0] == first
    again = EpochOrder(num_games, np.random.default_rng(seed), first)
    assert [again.next() for _ in walk] == walk
