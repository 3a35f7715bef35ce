"""The command line: ``agentkit demo | play | eval | games make | report | screen | diagnose``."""

import sys


def main() -> None:
    """Run the command line; without typer it says which pip line brings it."""
    from agentkit.extras import require

    try:
        require("typer", "demo")
    except ImportError as error:
        sys.exit(f"agentkit: {error}")
    from agentkit.cli.app import run

    run()
