"""Supervised warm start: expert episodes, written down as rollouts write them, for TRL's `SFTTrainer`.

The sequences come from `agentkit.trainers.rollouts.styles.replay`, the source of prompts that GRPO rollouts use too, as
exact token ids; the loss is on the tokens of actions alone (every other label is -100).
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from agentkit.trainers.rollouts.prompts import PromptStyle
from agentkit.trainers.rollouts.styles import replay
from agentkit.trajectory import Trajectory

logger = logging.getLogger(__name__)

IGNORED = -100
"""The label of a token that is read, not learnt."""


def in_tags(action: str) -> str:
    """An action as generated text gives it: without a thought, since demonstrations hold none."""
    return f"<action>{action}</action>"


def sft_dataset(
    trajectories: Sequence[Trajectory],
    style: PromptStyle,
    *,
    answer: Callable[[str], str] = str,
    only_won: bool = True,
    max_length: int | None = None,
) -> Dataset:
    """Rows with ``input_ids`` and ``labels``: one an episode in conversations, one a turn in windowed prompts.

    Args:
        trajectories: recorded episodes.
        style: how they are written down.
        answer: an action as the model is to write it; `in_tags` where rollouts generate text.
        only_won: leave out episodes that were not won.
        max_length: rows with more tokens are cut there by the trainer; how many is logged.

    Raises:
        ValueError: no episode is left to learn from.
    """
    kept = [t for t in trajectories if len(t) and (t.won or not only_won)]
    if not kept:
        raise ValueError(
            f"none of {len(trajectories)} demonstrations was won; set only_won to false to learn from them"
        )
    samples = [sample for trajectory in kept for sample in replay(trajectory, style, answer).samples]
    if max_length is not None and (cut := sum(len(sample) > max_length for sample in samples)):
        logger.warning(
            "%d of %d sequences are longer than max_length=%d and lose their end", cut, len(samples), max_length
        )
    return Dataset.from_dict(
        {
            "input_ids": [list(sample.ids) for sample in samples],
            "labels": [
                [IGNORED] * len(sample.prompt_ids)
                + [i if step >= 0 else IGNORED for i, step in zip(sample.completion_ids, sample.step_ids, strict=True)]
                for sample in samples
            ],
        }
    )


def sft_trainer(
    model: Any,
    processing_class: Any,
    args: SFTConfig,
    trajectories: Sequence[Trajectory],
    style: PromptStyle,
    *,
    answer: Callable[[str], str] = str,
    only_won: bool = True,
    **kwargs: Any,
) -> SFTTrainer:
    """TRL's `SFTTrainer` on expert episodes.

    Args:
        model: a causal LM.
        processing_class: its tokenizer.
        args: TRL's configuration.
        trajectories: recorded episodes.
        style: how they are written down; that of the rollouts to come.
        answer: an action as the model is to write it.
        only_won: leave out episodes that were not won.
        kwargs: passed to `trl.SFTTrainer` (``peft_config``, ``callbacks``, ...).

    Raises:
        ValueError: no episode is left to learn from.
    """
    dataset = sft_dataset(trajectories, style, answer=answer, only_won=only_won, max_length=args.max_length)
    return SFTTrainer(model=model, args=args, train_dataset=dataset, processing_class=processing_class, **kwargs)
