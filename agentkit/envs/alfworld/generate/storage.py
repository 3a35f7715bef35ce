"""Writing games so that a folder is either complete or absent."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staging(out: Path) -> Iterator[Path]:
    """A temporary folder inside ``out`` (made if absent), removed at the end.

    Raises:
        OSError: ``out`` is a file, or can't be written to; the message names it.
    """
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"out={str(out)!r} is a file; name a folder to write the games to")
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".staging-", dir=out))
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(f"out={str(out)!r} can't be written to ({reason}); name a folder you may write to") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_folder(target: Path, files: Mapping[str, str], stage: Path) -> bool:
    """Make ``target`` hold ``files`` (name -> text), moved there as a whole; False if it held them already."""
    if target.is_dir():
        if all(_holds(target / name, text) for name, text in files.items()):
            return False
        os.rename(target, Path(tempfile.mkdtemp(dir=stage)) / "replaced")
    draft = stage / "draft"
    draft.mkdir()
    for name, text in files.items():
        (draft / name).write_bytes(text.encode())
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(draft, target)
    return True


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return False


def write_file(target: Path, text: str, stage: Path) -> None:
    """Write one file, moved into place when complete."""
    draft = stage / target.name
    draft.write_bytes(text.encode())
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(draft, target)
