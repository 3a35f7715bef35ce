"""Append whole lines to a file that several processes write to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind
    fcntl = None


def append_line(path: str | os.PathLike[str], line: str) -> None:
    """Append ``line``, which ends in a newline, as a whole; the file is created when it does not exist.

    The file is locked meanwhile (where the system can), so that lines of several processes do not mix. A line that does
    not fit on the disk is taken back. A cut-off line that is already there is closed, not continued.

    Raises:
        OSError: the file cannot be opened, or the line cannot be written.
    """
    data = line.encode("utf-8")
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    try:
        with _locked(handle):
            size = os.lseek(handle, 0, os.SEEK_END)
            if size:
                os.lseek(handle, size - 1, os.SEEK_SET)
                data = data if os.read(handle, 1) == b"\n" else b"\n" + data
            try:
                _write_all(handle, data)
            except BaseException:
                os.ftruncate(handle, size)
                raise
    finally:
        os.close(handle)


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
