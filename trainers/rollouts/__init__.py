"""Episodes as token sequences: prompts, actions, batched play."""
