"""The error that sends a game to the stock engine."""


class UnsupportedGame(ValueError):  # noqa: N818 - a verdict on the game, not a failure of the program
    """The domain, the grammar or the problem is not one that the fast engine reproduces exactly."""
