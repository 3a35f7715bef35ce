"""``python -m agentkit.cli``, which ``accelerate launch -m agentkit.cli train ...`` needs."""

from agentkit.cli import main

if __name__ == "__main__":
    main()
