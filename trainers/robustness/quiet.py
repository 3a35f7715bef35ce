"""Leaves the terminal to a run's own lines."""

import logging
import os
import warnings


def quieten_libraries() -> None:
    """Silence progress bars and deprecation notes of the libraries underneath; their errors still come through."""
    import datasets
    from transformers.utils import logging as transformers_logging

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    datasets.disable_progress_bars()
    logging.getLogger("accelerate").setLevel(logging.ERROR)
