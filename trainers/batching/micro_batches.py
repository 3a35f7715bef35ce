"""Micro-batches cut by a token budget, whose weighted losses add up to the loss of the whole batch.

TRL's losses are means of three kinds. A part of the batch gets the weight that turns its own mean into its share of the
whole's:

| mean over | ``loss_type`` | weight of a part |
|---|---|---|
| rows | grpo, sapo, luspo, dr_grpo | rows of the part / rows that teach, of an average batch of all processes |
| tokens of the batch | bnpo, and the entropy bonus of every type | chosen tokens of the part / of the batch |
| tokens of all processes | dapo, cispo, vespo | 1: TRL's normaliser already spans everything |

Rows without a chosen token (they fill windowed batches up) take part in no mean: "rows that teach" leaves them out.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import torch

ROW_MEANS = ("grpo", "sapo", "luspo", "dr_grpo")
BATCH_TOKEN_MEANS = ("bnpo",)
GLOBAL_TOKEN_MEANS = ("dapo", "cispo", "vespo")

Batch = dict[str, Any]


class MicroBatch(dict[str, Any]):
    """A part of a batch that is ready for the loss."""


@attrs.frozen
class Weights:
    """How much a part counts."""

    policy: float
    """Of the policy's loss, KL included."""
    entropy: float
    """Of the entropy bonus."""


def cut(lengths: Sequence[int], budget: int | None) -> list[list[int]]:
    """Rows sorted by length, cut so that rows x longest row stays within ``budget`` tokens.

    Args:
        lengths: tokens of each row.
        budget: None = one part; a row that is longer than the budget stands alone.

    Returns:
        Parts, the longest rows first.

    >>> cut([3, 9, 3, 2], 9)
    [[1], [0, 2, 3]]
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    if budget is None:
        return [sorted(order)]
    parts: list[list[int]] = []
    for i in order:
        if parts and (len(parts[-1]) + 1) * lengths[parts[-1][0]] <= budget:
            parts[-1].append(i)
        else:
            parts.append([i])
    return parts


def padding_share(lengths: Sequence[int], parts: Sequence[Sequence[int]]) -> float:
    """The share of computed positions that are padding, in [0, 1]."""
    computed = sum(len(part) * max(lengths[i] for i in part) for part in parts if part)
    used = sum(lengths[i] for part in parts for i in part)
    return 1.0 - used / computed if computed else 0.0


def loss_mask(batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The tokens that the loss counts, shape (B, C)."""
    mask = batch["completion_mask"]
    return mask * batch["tool_mask"] if "tool_mask" in batch else mask


def select(batch: Mapping[str, Any], rows: Sequence[int], count: int | None = None) -> MicroBatch:
    """Some rows of a batch, trimmed to their longest prompt and completion.

    Prompts are padded on the left and everything about completions on the right, as TRL does.

    Args:
        batch: of B rows.
        rows: which ones.
        count: the rows of the result, filled up with masked ones; None = those chosen, at least one.
    """
    fillers = max(count or 1, len(rows)) - len(rows)
    chosen = torch.tensor([*rows, *[0] * fillers])
    part = {k: v[chosen.to(v.device)] if _has_rows(v) else v for k, v in batch.items()}
    part["completion_mask"] = part["completion_mask"].clone()
    part["completion_mask"][len(rows) :] = 0
    width = batch["completion_ids"].shape[1]
    prompt = max(1, int(part["prompt_mask"].sum(1).max()))
    # At least two columns: TRL takes a width of 1 for values of whole sequences.
    completion = max(2, int(_last_used(part["completion_mask"])))
    trimmed = MicroBatch()
    for key, value in part.items():
        if key.startswith("prompt_"):
            trimmed[key] = value[:, -prompt:]
        elif _has_rows(value) and value.ndim == 2 and value.shape[1] == width:
            trimmed[key] = value[:, :completion]
        else:
            trimmed[key] = value
    return trimmed


def _has_rows(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim > 0


def _last_used(mask: torch.Tensor) -> torch.Tensor:
    """Width up to the last column in which any row has a token."""
    columns = mask.bool().any(0).nonzero()
    return columns.max() + 1 if len(columns) else torch.tensor(1)


def weights(part: Mapping[str, Any], batch: Mapping[str, Any], loss_type: str) -> Weights:
    """The weights of a part of a batch.

    Args:
        part: from `select`.
        batch: the whole; ``rows_that_teach`` is the number of rows with a chosen token in an average batch.
        loss_type: TRL's.

    Raises:
        ValueError: a loss type whose normalisation is not known here.
    """
    mask = loss_mask(part)
    tokens = float(mask.sum()) / max(1.0, float(loss_mask(batch).sum()))
    if loss_type in ROW_MEANS:
        return Weights(len(mask) / max(1.0, float(batch["rows_that_teach"])), tokens)
    if loss_type in BATCH_TOKEN_MEANS:
        return Weights(tokens, tokens)
    if loss_type in GLOBAL_TOKEN_MEANS:
        return Weights(1.0, tokens)
    raise ValueError(f"loss_type {loss_type!r} is not known to micro-batches; set max_tokens_per_micro_batch=None")


def merged(name: str, values: Sequence[float], shares: Sequence[float]) -> float:
    """One value of a metric that TRL logged for every part.

    Args:
        name: the smallest and largest of ``.../..._min`` and ``.../..._max`` are kept; others are means over tokens.
        values: one a part; NaN where a part had nothing to count.
        shares: of all processes' chosen tokens, one a part.
    """
    numbers = [(value, share) for value, share in zip(values, shares, strict=True) if not math.isnan(value)]
    if not numbers:
        return math.nan
    if name.endswith(("_min", "_max")):
        extreme = min if name.endswith("_min") else max
        return extreme(value for value, _ in numbers)
    total = sum(share for _, share in numbers)
    return sum(value * share for value, share in numbers) / total if total else numbers[0][0]
