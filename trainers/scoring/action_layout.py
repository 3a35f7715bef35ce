"""Every candidate of every decision of a sequence, scored in one forward pass.

Behind the sequence's own tokens stands one position for each trie edge that the chosen actions do not use. The position
of edge (p, c) holds token p at p's own depth and sees exactly p's ancestors and itself, so its hidden state is p's, and
the language-model head is asked there for the log-probability of c. Compared with one pass per candidate, shared
beginnings (the whole context, and what candidates share) are computed once; and the head keeps TRL's form, one label a
position, so that TRL's fused, chunked head and any wrapper of the model (DDP, FSDP, PEFT) work unchanged.
"""

from collections.abc import Sequence

import attrs
import numpy as np
import torch

from agentkit.models.token_tree import Item, build_tree
from agentkit.trainers.rollouts.token_episode import Decision, Tokens, TokenSample

NO_LABEL = -100
"""What the head skips, as in transformers."""


@attrs.frozen
class Layout:
    """N positions of one sample: its own tokens, then the edges beside the chosen actions."""

    tokens: list[int]
    depths: list[int]
    """Position of each token in its sequence."""
    visible: list[int]
    """How many of the sample's own leading tokens each position sees."""
    ancestors: list[tuple[int, ...]]
    """The further positions that each sees, itself included."""
    labels: list[int]
    """The token whose log-probability is wanted after each position; `NO_LABEL` = none."""
    edges: list[list[list[int]]]
    """For each decision, for each candidate: where the log-probabilities of its tokens stand."""

    def __len__(self) -> int:
        return len(self.tokens)


def lay_out(sample: TokenSample) -> Layout:
    """The layout of a sample with its decisions' candidates."""
    ids, size = sample.ids, len(sample)
    layout = Layout(list(ids), list(range(size)), list(range(1, size + 1)), [(i,) for i in range(size)], [], [])
    layout.labels.extend([NO_LABEL] * size)
    for decision in sample.decisions:
        start = len(sample.prompt_ids) + decision.start
        layout.edges.append(_add_decision(layout, decision, start, ids[start : start + decision.size]))
    return layout


def layout_size(sample: TokenSample) -> int:
    """N, without building the layout: at most one position for each candidate token."""
    return len(sample) + sum(_branch_size(d) for d in sample.decisions)


def _branch_size(decision: Decision) -> int:
    prefixes = {candidate[: j + 1] for candidate in decision.candidates for j in range(len(candidate))}
    return max(0, len(prefixes) - decision.size)


def _add_decision(layout: Layout, decision: Decision, start: int, chosen: Tokens) -> list[list[int]]:
    """Append the edges that leave the chosen path; the answer is ``Layout.edges`` of this decision."""
    root = layout.tokens[start - 1]
    tree = build_tree([Item((root,), decision.candidates)])
    # Where each edge (parent, node) is scored, and where each node itself can be seen, by node of the tree.
    scored: dict[int, int] = {}
    on_path: dict[int, int] = {0: start - 1}
    seen_from: dict[int, tuple[int, tuple[int, ...]]] = {}
    stands: dict[int, int] = {}
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        depth = tree.depths[parent]
        follows = parent in on_path and depth < len(chosen) and tree.tokens[node] == chosen[depth]
        if follows:
            scored[node] = on_path[parent]
            on_path[node] = on_path[parent] + 1
            layout.labels[scored[node]] = tree.tokens[node]
            continue
        if parent in on_path:
            visible, above = on_path[parent], ()
        else:
            visible, above = seen_from[parent]
        position = len(layout.tokens)
        scored[node] = position
        layout.tokens.append(tree.tokens[parent])
        layout.depths.append(start - 1 + depth)
        layout.visible.append(visible)
        layout.ancestors.append((*above, position))
        layout.labels.append(tree.tokens[node])
        if parent not in on_path:
            stands.setdefault(parent, position)
        # What the node's own children see above the node: everything above the parent, and the parent.
        seen_from[node] = (visible + 1, ()) if parent in on_path else (visible, (*above, stands[parent]))
    return [[scored[node] for node in path] for path in tree.paths[0]]


@attrs.frozen
class LayoutBatch:
    """B layouts as tensors of width N, filled up on the right."""

    tokens: torch.Tensor
    depths: torch.Tensor
    labels: torch.Tensor
    mask: torch.Tensor
    """Bool (B, 1, N, N): True where a position may look."""

    @classmethod
    def collate(cls, layouts: Sequence[Layout], padding: int, device: torch.device) -> "LayoutBatch":
        """Put layouts side by side; padded positions see themselves alone."""
        width = max(map(len, layouts))
        deepest = max(len(a) for layout in layouts for a in layout.ancestors)
        tokens = _filled([layout.tokens for layout in layouts], width, padding)
        depths = _filled([layout.depths for layout in layouts], width, 0)
        labels = _filled([layout.labels for layout in layouts], width, NO_LABEL)
        visible = torch.from_numpy(_filled([layout.visible for layout in layouts], width, 0)).to(device)
        seen = np.broadcast_to(np.arange(width)[None, :, None], (len(layouts), width, deepest)).copy()
        for b, layout in enumerate(layouts):
            for i, ancestors in enumerate(layout.ancestors):
                seen[b, i, : len(ancestors)] = ancestors
        mask = torch.arange(width, device=device)[None, None, :] < visible[:, :, None]
        mask.scatter_(2, torch.from_numpy(seen).to(device), True)
        tokens, depths, labels = (torch.from_numpy(array).to(device) for array in (tokens, depths, labels))
        return cls(tokens, depths, labels, mask[:, None])

    def attention_mask(self, boolean: bool, dtype: torch.dtype) -> torch.Tensor:
        """The mask as attention takes it: bool for ``sdpa``, 0 or the lowest number for ``eager``."""
        if boolean:
            return self.mask
        return torch.zeros(self.mask.shape, dtype=dtype, device=self.mask.device).masked_fill(
            ~self.mask, torch.finfo(dtype).min
        )


def _filled(rows: Sequence[Sequence[int]], width: int, value: int) -> np.ndarray:
    array = np.full((len(rows), width), value, dtype=np.int64)
    for b, row in enumerate(rows):
        array[b, : len(row)] = row
    return array
