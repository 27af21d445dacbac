#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks which Python module imports which, and the size of the rooms.

- Each folder of python/ is a room: ROOMS says which others it may import. No two rooms import each other, directly or through others; an
  import within a function or for types alone counts, too. Of the files in clustersim/ itself, those that ROOMS names are rooms of their own.
- A room has at most LINES lines.
"""
import argparse
import ast
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python"

# Rooms that each room imports, those below first. Rooms of a package are named within it.
ROOMS = {
    "clustersim": set(),  # files, words, errors
    "clustersim/topology": {"."},
    "clustersim/topology/generator": {".", "topology"},
    "clustersim/results/reading": {"."},
    "clustersim/results": {".", "results/reading", "topology"},
    "clustersim/results/tables": {".", "results"},
    "clustersim/results/plots": {".", "results", "results/tables", "topology"},
    "clustersim/results/page": {"results", "results/plots", "results/tables"},
    "clustersim/simulation": {".", "results"},
    "clustersim/generation": {"simulation", "topology", "topology/generator"},
    "clustersim/goodput": set(),
    "clustersim/workload": set(),
    "clustersim/workload/kernels": {"."},
    "clustersim/workload/plan": {"."},
    "clustersim/workload/model": {".", "workload/plan"},
    "clustersim/workload/mixers": {".", "workload/model", "workload/plan"},
    "clustersim/workload/reading": {".", "workload/model"},
    "clustersim/workload/training": {".", "workload/kernels", "workload/model", "workload/plan"},
    "clustersim/workload/write": {".", "workload/model", "workload/plan", "workload/training"},
    "clustersim/workload/estimate": {".", "simulation", "workload/kernels", "workload/model", "workload/plan", "workload/training",
                                     "workload/write"},
    "clustersim/workload/serve": {".", "workload/kernels", "workload/model", "workload/plan", "workload/training"},
    "clustersim/workload/command": {".", "results", "results/plots", "simulation", "topology", "workload/estimate", "workload/kernels",
                                    "workload/model", "workload/plan", "workload/reading", "workload/serve", "workload/training", "workload/write"},
    "clustersim/sweep": {".", "simulation"},
    "clustersim/why": {".", "results/reading", "simulation", "topology", "workload/write"},
    "clustersim/physical": {".", "simulation", "topology"},
    "clustersim/scenarios": {"simulation", "topology", "topology/generator"},
    "clustersim/accuracy": {".", "results/plots", "simulation", "topology"},
    "clustersim/offload": {"accuracy", "results", "results/plots", "simulation"},
    "clustersim/outcomes": {".", "accuracy", "results/plots", "simulation", "workload/command", "workload/estimate", "workload/kernels",
                            "workload/mixers", "workload/model", "workload/plan", "workload/serve", "workload/training"},
    "clustersim/commands": {".", "goodput", "offload", "physical", "results", "results/page", "results/plots", "results/reading",
                            "results/tables", "simulation", "sweep", "topology", "topology/generator", "why", "workload/command"},
    "clustersim/commands/hpcc": {".", "results/plots", "simulation"},
    "clustersim/commands/validation": {".", "accuracy", "outcomes", "physical", "results/plots", "scenarios", "simulation",
                                       "workload/kernels"},
    "clustersim/__init__": {".", "generation", "simulation"},
    "aicb": {"clustersim", "clustersim/commands", "clustersim/workload/command"},
}
LINES = 1500


def allowed(room):
    """@return the rooms that a room may import, by their whole names"""
    package = room.split("/")[0]
    return {each if package != "clustersim" else "clustersim" if each == "." else f"clustersim/{each}" for each in ROOMS[room]}


def room_of(module):
    """@param module a file's path in python/, without its suffix"""
    return module if module in ROOMS and (PYTHON / f"{module}.py").is_file() else module.rpartition("/")[0]


def module_of(name):
    """@return the file of ours that an imported name is, or is in, without its suffix; None: it is of others"""
    path = name.replace(".", "/")
    while path:
        for module in (path, f"{path}/__init__"):
            if (PYTHON / f"{module}.py").is_file():
                return module
        path = path.rpartition("/")[0]
    return None


def imports(path):
    """@return line and name of whatever a file imports, wherever it does so"""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def check_imports(path, used):
    """@param used collects pairs of rooms @return what is wrong with a file's imports of other rooms"""
    room, errors = room_of(path.relative_to(PYTHON).with_suffix("").as_posix()), []
    where = path.relative_to(ROOT)
    if room not in ROOMS:
        return [f"{where}: {room} is no room in ROOMS"]
    for line, name in imports(path):
        module = module_of(name)
        other = room_of(module) if module else room
        if other != room and other not in allowed(room):
            errors.append(f"{where}:{line}: {room} must not import {name} of {other}")
        used.add((room, other))
    return errors


def circles():
    """@return the circles in ROOMS: rooms that may import each other, directly or through others"""
    state, errors = {}, []

    def visit(room, path):
        if state.get(room) == "done":
            return
        if room in path:
            errors.append("ROOMS has a circle: " + " -> ".join([*path[path.index(room):], room]))
            return
        for other in sorted(allowed(room)):
            visit(other, [*path, room])
        state[room] = "done"

    for room in sorted(ROOMS):
        visit(room, [])
    return errors


def check_sizes(paths):
    """@return the rooms that have too many lines"""
    sizes = collections.Counter()
    for path in paths:
        sizes[path.parent.relative_to(PYTHON).as_posix()] += path.read_text(encoding="utf-8").count("\n")
    return [f"python/{room}: has {size} lines; expected at most {LINES}: look for the second idea in it"
            for room, size in sorted(sizes.items()) if size > LINES]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    paths = sorted(PYTHON.rglob("*.py"))
    used = set()
    errors = circles() + [error for path in paths for error in check_imports(path, used)] + check_sizes(paths)
    errors += [f"ROOMS: {room} does not import {other}; take it out" for room in ROOMS for other in sorted(allowed(room)) if (room, other) not in used]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
