"""Goal splits as the papers use them: goals 0 to 499 are the test set, the rest is for training."""

TEST_GOALS = 500
SPLITS = ("test", "train", "all")


def check_split(split: str) -> str:
    """Return ``split`` when it is known.

    Raises:
        ValueError: it is not.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {list(SPLITS)}, got {split!r}")
    return split


def split_range(split: str, num_goals: int) -> range:
    """Indices of the split's goals, of ``num_goals`` in all.

    Raises:
        ValueError: there is none.
    """
    ranges = {
        "test": range(min(TEST_GOALS, num_goals)),
        "train": range(min(TEST_GOALS, num_goals), num_goals),
        "all": range(num_goals),
    }
    chosen = ranges[split]
    if not chosen:
        mend = "use split='all'" if num_goals else "the data needs attributes (synthetic goals) or human instructions"
        raise ValueError(f"split {split!r} has no goals, for the data has {num_goals} goals in all; {mend}")
    return chosen
