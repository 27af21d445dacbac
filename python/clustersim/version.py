# SPDX-License-Identifier: GPL-2.0-only
"""The version: of the checkout or the Debian package by its file VERSION, of the wheel by its metadata."""
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[2]


def _find() -> str:
    file = TREE / "VERSION"
    if (TREE / "python/clustersim").is_dir() and file.is_file():
        return file.read_text(encoding="utf-8").strip()
    import importlib.metadata  # takes a moment to load
    try:
        return importlib.metadata.version("clustersim")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


__version__ = _find()
