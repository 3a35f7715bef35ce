"""``agentkit report``: recorded episodes, or a training run, as one page."""

from pathlib import Path

from agentkit.trajectory import load_trajectories


def report(source: Path, out: Path | None) -> None:
    """Write the page and print where it is."""
    from agentkit.report import write_page, write_run_page

    if source.is_dir():
        print(write_run_page(source, out))
        return
    episodes = load_trajectories(source)
    if not episodes:
        raise ValueError(f"{source} holds no episodes")
    page = out if out is not None else Path("report.html")
    print(write_page(page, {source.name: episodes}, title=f"Episodes of {source.name}"))
