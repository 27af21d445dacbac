# SPDX-License-Identifier: GPL-2.0-only
"""run.json: what a run was made from, and how it went."""
import json
import pathlib
from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

from clustersim import input_file

if TYPE_CHECKING:
    from clustersim.results.reading.problem import Problems

CONGESTION_CONTROLS = {"0": "none", "1": "DCQCN", "3": "HPCC", "7": "TIMELY", "8": "DCTCP",
                       "10": "HPCC-PINT", "ns3::RdmaTimely": "TIMELY-paper"}


TEXTS = ("status", "version", "host", "directory", "topology", "network", "backend", "test")
NUMBERS = ("simulated_ns", "wall_s", "simulation_wall_s", "peak_memory_bytes", "seed", "events", "packets",
           "packet_hops", "flows",
           "background_flows", "drops", "pauses", "paused_ns", "longest_pause_ns", "pfc_storms", "timeouts",
           "retransmitted_bytes", "nacks", "cnps", "trimmed_packets", "link_replays", "out_of_order_packets",
           "reorder_bytes",
           "collectives", "collectives_left_out", "threads")
MOST = float(1 << 64)  # a seed may be as large


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MOST


def _is_reuse(value: object) -> bool:
    reasons = value.get("approximate", []) if isinstance(value, dict) else None
    return isinstance(reasons, list) and all(isinstance(reason, str) for reason in reasons)


def _is_input(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), str) for name in ("role", "path"))


EXPECTED = {
    **{name: (lambda value: isinstance(value, str), "a text") for name in TEXTS},
    **{name: (_is_number, "a number, 0 or more") for name in NUMBERS},
    "options": (lambda value: isinstance(value, dict) and isinstance(value.get("nccl_environment") or {}, dict),
                "options by name"),
    "fast_forward": (_is_reuse, "numbers by name, and the reasons why it is approximate"),
    "inputs": (lambda value: isinstance(value, list) and all(map(_is_input, value)),
               "role, path and sha256 of each input"),
}


def read_run_json(path: pathlib.Path, problems: "Problems") -> dict[str, Any]:
    """@return the object without entries that cannot be what they should; empty if it cannot be read"""
    try:
        info = json.loads(input_file.read_text(path, errors="replace"))
    except OSError as error:
        problems.add(path, 0, f"cannot be read ({error.strerror})", "the record of the run")
        return {}
    except (ValueError, RecursionError) as error:  # among the first is a number of thousands of digits
        problems.add(path, getattr(error, "lineno", 0), "the file is cut off or no JSON; parameters are left out",
                     "the record of the run")
        return {}
    if not isinstance(info, dict):
        problems.add(path, 1, "this is not a JSON object; parameters are left out", "the record of the run")
        return {}
    for name in [name for name in info if name in EXPECTED and not EXPECTED[name][0](info[name])]:
        problems.add(path, 0, f"\"{name}\" is not {EXPECTED[name][1]}, and is left out", EXPECTED[name][1])
        del info[name]
    return info


def places_of(path: str | pathlib.Path, info: Mapping[str, Any]) -> list[pathlib.Path]:
    """@return where an input may be that a run names: relative paths begin in the directory in which it was started"""
    return [pathlib.Path(info.get("directory", ""), path), pathlib.Path(path)]


def has_whole_network(info: Mapping[str, Any]) -> bool:
    """@return whether files of a run's network hold its traffic: with --fast-forward that is simulated beside the
    run"""
    return "fast_forward" not in info or info.get("network") == "analytical"


def options_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """@return effective options by name"""
    return info.get("options", {})


def input_of(info: Mapping[str, Any], role: str) -> dict[str, Any]:
    """@return the entry of inputs with this role (the first of several), or an empty dictionary"""
    return next((entry for entry in info.get("inputs", ()) if entry["role"] == role), {})


def input_name(info: Mapping[str, Any], role: str) -> str:
    """@return base name of an input, or an empty string"""
    return pathlib.Path(input_of(info, role).get("path", "")).name


def congestion_control(info: Mapping[str, Any]) -> str:
    """@return such as "DCQCN" or "Swift", or an empty string"""
    options = options_of(info)
    mode = str(options.get("CC_MODE", options.get("cc_mode", "")))
    return CONGESTION_CONTROLS.get(mode, mode.removeprefix("ns3::Rdma"))
