# SPDX-License-Identifier: GPL-2.0-only
"""run.json: what a run was made from, and how it went."""
import json
import pathlib

CONGESTION_CONTROLS = {"0": "none", "1": "DCQCN", "3": "HPCC", "7": "TIMELY", "8": "DCTCP",
                       "10": "HPCC-PINT"}


def read_run_json(path, problems):
    """@return the object, empty if it cannot be read"""
    try:
        info = json.loads(path.read_text(errors="replace"))
    except OSError as error:
        problems.add(path, 0, f"cannot be read ({error.strerror})", "the record of the run")
        return {}
    except json.JSONDecodeError as error:
        problems.add(path, error.lineno, "the file is cut off or no JSON; parameters are left out",
                     "the record of the run")
        return {}
    if not isinstance(info, dict):
        problems.add(path, 1, "this is not a JSON object; parameters are left out", "the record of the run")
        return {}
    return info


def options_of(info):
    """@return effective options by name"""
    options = info.get("options")
    return options if isinstance(options, dict) else {}


def input_of(info, role):
    """@return the entry of inputs with this role (the first of several), or an empty dictionary"""
    entries = info.get("inputs")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("role") == role:
            return entry
    return {}


def input_name(info, role):
    """@return base name of an input, or an empty string"""
    return pathlib.Path(input_of(info, role).get("path", "")).name


def congestion_control(info):
    """@return such as "DCQCN" or "Swift", or an empty string"""
    options = options_of(info)
    mode = str(options.get("CC_MODE", options.get("cc_mode", "")))
    return CONGESTION_CONTROLS.get(mode, mode.removeprefix("ns3::Rdma"))
