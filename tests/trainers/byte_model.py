"""A tiny random language model over bytes: its forward and backward passes take milliseconds on a CPU."""

import copy
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.decoders import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agentkit.testing import ScriptedEnv

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role[0] }}|>{{ message.content }}<|e|>{% endfor %}"
    "{% if add_generation_prompt %}<|a|>{% endif %}"
)


class Small(NamedTuple):
    """A model and its tokenizer."""

    model: Any
    tokenizer: Any


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and a chat template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|e|>", pad_token="<|p|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|s|>", "<|u|>", "<|a|>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def byte_model(seed: int = 0, attention: str = "sdpa") -> Small:
    """The same random weights for the same seed."""
    tokenizer = byte_tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        initializer_range=0.06,  # so that different actions have clearly different probabilities
        attn_implementation=attention,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Small(LlamaForCausalLM(config).eval(), tokenizer)


DOORS = {
    "start": {
        "observation": "Two doors.",
        "actions": {"left": "hall", "exit": {"to": "end", "reward": 1.0}, "wait": "start", "late": "start"},
    },
    "hall": {"observation": "A hall.", "actions": {"left": "start", "late": "hall", "look": "hall"}},
    "end": {"observation": "Out.", "won": True},
}
"""Actions of equally many tokens, so that a random model tries all of them; some begin alike, as in real tries."""


def doors() -> ScriptedEnv:
    """A new environment of `DOORS`."""
    return ScriptedEnv(copy.deepcopy(DOORS), goal="get out")
