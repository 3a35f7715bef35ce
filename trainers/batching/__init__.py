"""From samples to rows, and batches cut by a token budget."""
