#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks which Python module imports which, the size of the rooms and the length of lines.

- Each folder of a package in python/ and lab/ is a room: ROOMS says which others it may import. No two rooms import
  each other, directly or through others; an import within a function or for types alone counts, too. Of the files in
  clustersim/ itself, those that ROOMS names are rooms of their own.
- clustersim_lab imports clustersim, never the reverse.
- A room has at most LINES lines, and a line of any Python file at most COLUMNS columns. Tables, pages and pasted text
  in a string of several lines may be wider.
"""
import argparse
import ast
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "python", ROOT / "lab")  # of packages

# Rooms that each room imports, those below first. Rooms of clustersim are named within it, so that it cannot name those
# of another package.
ROOMS = {
    "clustersim": set(),  # files, words, errors
    "clustersim/topology": {"."},
    "clustersim/topology/layers": {".", "topology"},
    "clustersim/topology/generator": {".", "topology", "topology/layers"},
    "clustersim/results/reading": {"."},
    "clustersim/results": {".", "results/reading", "topology", "topology/layers"},
    "clustersim/results/tables": {".", "results"},
    "clustersim/results/plots": {".", "results", "results/tables", "topology/layers"},
    "clustersim/results/page": {"results", "results/plots", "results/tables"},
    "clustersim/simulation": {".", "results"},
    "clustersim/goodput": set(),
    "clustersim/workload": set(),
    "clustersim/workload/kernels": {"."},
    "clustersim/workload/plan": {"."},
    "clustersim/workload/model": {".", "workload/plan"},
    "clustersim/workload/mixers": {".", "workload/model", "workload/plan"},
    "clustersim/workload/reading": {".", "workload/model"},
    "clustersim/workload/megatron": {".", "workload/model"},
    "clustersim/workload/training": {".", "workload/kernels", "workload/model", "workload/plan"},
    "clustersim/workload/write": {".", "workload/model", "workload/plan", "workload/training"},
    "clustersim/workload/contention": {"topology", "workload/plan", "workload/training"},
    "clustersim/workload/estimate": {".", "simulation", "workload/contention", "workload/kernels", "workload/model",
                                     "workload/plan", "workload/training", "workload/write"},
    "clustersim/workload/planning": {".", "simulation", "workload/contention", "workload/estimate",
                                     "workload/kernels", "workload/model", "workload/plan", "workload/training",
                                     "workload/write"},
    "clustersim/workload/inference": {"."},
    "clustersim/workload/serve": {".", "workload/inference", "workload/kernels", "workload/model", "workload/plan",
                                  "workload/training"},
    "clustersim/workload/result": {".", "results/plots", "workload/kernels", "workload/model", "workload/plan",
                                   "workload/planning", "workload/write"},
    "clustersim/workload/flags": {".", "workload/kernels", "workload/megatron", "workload/model",
                                  "workload/plan", "workload/reading"},
    "clustersim/workload/command": {".", "simulation", "topology", "topology/layers", "workload/contention",
                                    "workload/estimate", "workload/flags", "workload/inference", "workload/kernels",
                                    "workload/megatron", "workload/model", "workload/plan", "workload/planning",
                                    "workload/result", "workload/serve", "workload/training", "workload/write"},
    "clustersim/fabrics": {".", "results", "results/page", "results/tables", "simulation", "topology",
                           "topology/generator", "topology/layers", "workload/command", "workload/estimate",
                           "workload/flags", "workload/planning"},
    "clustersim/serving_plan": {".", "results/tables", "simulation", "topology", "topology/generator",
                                "topology/layers", "workload/command", "workload/estimate", "workload/flags",
                                "workload/inference", "workload/kernels", "workload/model", "workload/serve",
                                "workload/training"},
    "clustersim/rl_step": {".", "results", "results/tables", "serving_plan", "simulation", "topology",
                           "workload/command", "workload/estimate", "workload/flags", "workload/kernels",
                           "workload/model", "workload/plan", "workload/serve", "workload/training"},
    "clustersim/sweep": {".", "simulation", "topology/generator"},
    "clustersim/why": {".", "results/reading", "simulation", "topology", "workload/write"},
    "clustersim/physical": {".", "simulation"},
    "clustersim/commands": {".", "fabrics", "goodput", "physical", "results", "results/page", "results/plots",
                            "results/reading", "results/tables", "rl_step", "serving_plan", "simulation", "sweep",
                            "topology", "topology/generator", "why", "workload/command"},
    "clustersim/library": {".", "results", "results/tables", "simulation", "topology", "topology/generator",
                           "topology/layers", "why", "workload/command", "workload/result"},
    "clustersim/__init__": {".", "library", "simulation"},
    "aicb": {"clustersim", "clustersim/commands", "clustersim/workload/command", "clustersim/workload/flags"},
    "clustersim_lab": set(),  # the top of the checkout
    "clustersim_lab/accuracy": {"clustersim", "clustersim/results/plots", "clustersim/simulation",
                                "clustersim/topology", "clustersim_lab"},
    "clustersim_lab/outcomes": {"clustersim", "clustersim/results/plots", "clustersim/simulation",
                                "clustersim/workload/command", "clustersim/workload/estimate",
                                "clustersim/workload/kernels", "clustersim/workload/mixers",
                                "clustersim/workload/model", "clustersim/workload/plan", "clustersim/workload/serve",
                                "clustersim/workload/training", "clustersim_lab", "clustersim_lab/accuracy"},
    "clustersim_lab/servers": {"clustersim", "clustersim/library", "clustersim/results", "clustersim/serving_plan",
                               "clustersim/simulation", "clustersim/workload/model", "clustersim/workload/serve",
                               "clustersim_lab", "clustersim_lab/outcomes"},
    "clustersim_lab/rl_steps": {"clustersim", "clustersim/rl_step", "clustersim/simulation", "clustersim_lab"},
    "clustersim_lab/scenarios": {"clustersim", "clustersim/simulation", "clustersim/topology",
                                 "clustersim/topology/generator"},
    "clustersim_lab/box": {"clustersim", "clustersim/physical", "clustersim/simulation", "clustersim/topology"},
    "clustersim_lab/hpcc": {"clustersim", "clustersim/simulation"},
    "clustersim_lab/papers": {"clustersim", "clustersim/commands", "clustersim/results/plots", "clustersim/simulation",
                              "clustersim_lab", "clustersim_lab/hpcc"},
    "clustersim_lab/htsim": {"clustersim", "clustersim/simulation", "clustersim_lab"},
    "clustersim_lab/comparisons": {"clustersim", "clustersim/physical", "clustersim/results",
                                   "clustersim/results/plots", "clustersim/simulation", "clustersim_lab",
                                   "clustersim_lab/accuracy", "clustersim_lab/box"},
}
LINES = 1500
COLUMNS = 120
FILES = ("*/*.py", "lab/*/**/*.py", "python/*/**/*.py", "scripts/maintain/*.py", "test/*/**/*.py", "docs/source/*.py")


def allowed(room):
    """@return the rooms that a room may import, by their whole names"""
    package = room.split("/")[0]
    return {each if package != "clustersim" else "clustersim" if each == "." else f"clustersim/{each}"
            for each in ROOMS[room]}


def is_file(module):
    """@param module a path below one of FOLDERS, without a suffix @return whether it is a file"""
    return any((folder / f"{module}.py").is_file() for folder in FOLDERS)


def room_of(module):
    """@param module as above"""
    return module if module in ROOMS and is_file(module) else module.rpartition("/")[0]


def module_of(name):
    """@return the file of this repository, without its suffix, that is or defines an imported name; None for other
    packages"""
    path = name.replace(".", "/")
    while path:
        for module in (path, f"{path}/__init__"):
            if is_file(module):
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


def check_imports(folder, path, used):
    """@param folder of the packages @param used collects pairs of rooms @return what is wrong with a file's imports of
    other rooms"""
    room, errors = room_of(path.relative_to(folder).with_suffix("").as_posix()), []
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
            circle = path[path.index(room):]
            first = circle.index(min(circle))
            errors.append("ROOMS has a circle: " + " -> ".join([*circle[first:], *circle[:first + 1]]))
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
        sizes[path.parent.relative_to(ROOT).as_posix()] += path.read_text(encoding="utf-8").count("\n")
    return [f"{room}: has {size} lines; expected at most {LINES}: look for the second idea in it"
            for room, size in sorted(sizes.items()) if size > LINES]


def rows_of_text(tree):
    """@return the lines of strings of several lines, but for docstrings"""
    def rows(node):
        return set(range(node.lineno, node.end_lineno + 1)) if node.end_lineno > node.lineno else set()

    text = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str):
            text |= rows(node)
    docstrings = (node.value for node in ast.walk(tree)
                  if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    return text.difference(*map(rows, docstrings))


def check_columns(path):
    """@return the lines of a file that are too long"""
    source = path.read_text(encoding="utf-8")
    long = [number for number, line in enumerate(source.split("\n"), 1) if len(line) > COLUMNS]
    text = rows_of_text(ast.parse(source)) if long else set()
    return [f"{path.relative_to(ROOT)}:{number}: has more than {COLUMNS} columns" for number in long
            if number not in text]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    paths = [(folder, path) for folder in FOLDERS for path in sorted(folder.glob("*/**/*.py"))]
    used = set()
    errors = circles() + [error for folder, path in paths
                          for error in check_imports(folder, path, used)] + check_sizes(path for _, path in paths)
    errors += [f"ROOMS: {room} does not import {other}; take it out" for room in ROOMS
               for other in sorted(allowed(room)) if (room, other) not in used]
    errors += [error for place in FILES for path in sorted(ROOT.glob(place)) for error in check_columns(path)]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
