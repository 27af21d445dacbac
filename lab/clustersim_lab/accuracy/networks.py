# SPDX-License-Identifier: GPL-2.0-only
"""The built-in kinds of networks, as the simulator reads them, and where each figure comes from."""
import pathlib
from collections.abc import Sequence
from typing import Any

import yaml

from clustersim.rst import list_table, table_link

FILE = pathlib.Path("contrib/collectives/model/nccl/network-kinds.yaml")
Row = dict[str, Any]  # of the table, by key
FIGURES = {  # in the order of the page's columns
    "efficiency": "part of line rate",
    "packet_bytes": "payload of a packet",
    "step_us": "us of a step beyond NCCL's",
    "told_us": "us that NCCL is told",
    "slot_trips": "trips that hold a slot",
    "buffer_bytes": "bytes of a buffer",
    "pair_chunk_bytes": "bytes of a pair's chunk",
    "nvls_chunk_bytes": "bytes of a chunk of NVLS",
    "nvls_tree_chunk_bytes": "bytes of a chunk of NVLS-Tree",
    "groups_nics": "a GPU's NICs are one to NCCL",
    "slow_starts": "us more above bytes on the wire",
    "without": "not used",
    "simple_from": "LL128 ends at bytes of a rank",
}


def read(root: pathlib.Path) -> list[Row]:
    """@return the rows of the table, each with all that it has from the row it is like"""
    rows: dict[str, Row] = {}
    for row in yaml.safe_load((root / FILE).read_text(encoding="utf-8")):
        like = rows.get(row.get("like"), {})
        rows[row["name"]] = {key: value for key, value in (like | row).items() if key != "like"}
    return list(rows.values())


def cell_of(name: str, figure: Any) -> str:
    """@return a figure of network-kinds.yaml as text; empty for None"""
    if figure is None:
        return ""
    if name == "slow_starts":
        return ", ".join(f"{part['us']} above {part['above']}" + (f" at {part['gbps']} GB/s" if "gbps" in part else "")
                         for part in figure)
    if name == "groups_nics":
        return "yes" if figure["is"] else ""
    return ", ".join(figure["is"]) if name == "without" else str(figure["is"])


def sources_of(row: Row) -> list[str]:
    """@return where the figures of a row come from, in words"""
    parts = []
    for name in FIGURES:
        figures = row.get(name, [])
        for figure in figures if isinstance(figures, list) else [figures]:
            tables = "".join(f" {table_link(table)}" for table in figure.get("tables", ()))
            limit = f" above {figure['above']} bytes" if name == "slow_starts" else ""
            parts.append(f"{name}{limit}: {figure['by']}{'; from' + tables if tables else ''}")
    if tuner := row.get("tuner"):
        parts.append(f"tuner: {tuner['name']} with {len(tuner['rows'])} regions; {tuner['by']}")
    return parts


def page_of(rows: Sequence[Row]) -> str:
    """@return the table of the kinds and the sources of their figures in reStructuredText"""
    used = [name for name in FIGURES if any(name in row for row in rows)]
    text = ".. Written by lab/accuracy.py --page from network-kinds.yaml; do not edit.\n\n"
    text += list_table(["name", *(FIGURES[name] for name in used)],
                       [[row["name"], *(cell_of(name, row.get(name)) for name in used)] for row in rows])
    for row in rows:
        text += "\n".join([f"**{row['name']}**: {row['of']}.", "", *(f"- {part}" for part in sources_of(row)), "", ""])
    return text.rstrip("\n") + "\n"
