# SPDX-License-Identifier: GPL-2.0-only
"""Files that have their name only when they are whole.

    with whole_file("table.csv") as part:  # table.part.csv in the same directory
        frame.to_csv(part)
    write_text("table.md", text)
"""
import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields the path to write to, which becomes the file if nothing is raised. It has the same suffix.

    @raise OSError that names the file, also where the disk is full
    """
    path = pathlib.Path(path)
    if path.exists() and not path.is_file():
        yield path  # a device, a pipe: nothing to replace
        return
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=f".part{path.suffix}")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(descriptor)
    part = pathlib.Path(name)
    try:
        yield part
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)  # mkstemp is for one user only
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, name):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a whole text file, with the line ends that the text has."""
    with whole_file(path) as part, open(part, "w", encoding="utf-8", newline="") as file:
        file.write(text)
