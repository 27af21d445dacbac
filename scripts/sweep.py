#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs every combination of a grid of inputs, side by side, and makes one table of the results.

The grid is a YAML file; names of files in it are relative to its own directory:

  topologies:                       # files, or what the generator is to make
    - generate: -topo Spectrum-X -g 16
    - {name: mine, file: ../my-topology}
  conf:                             # files, each with keys that win over it
    - ../conf/SimAI.conf
    - {file: ../conf/HPCC.conf, set: {BUFFER_SIZE: 16}}
  workloads: [../workloads/microAllReduce_16g.txt]
  env:                              # variables, such as NCCL_NVLS_ENABLE
    - {name: ring}
    - {name: ring, set: {NCCL_NVLS_ENABLE: 0}}
  network: [packet, flow]           # --network of the program
  program: ../bin/SimAI_simulator   # this one when left out
  flags: --passes 2                 # of every run
  memory_gb: 4                      # of each run; one above it is killed
  time_limit_s: 600                 # of each run

Only topologies and workloads are needed. Writes OUTPUT/runs/NAME/ for each run, and OUTPUT/table.csv
and OUTPUT/table.md after each. Started again it does only what is not complete: a run counts as complete
when its run.json says so and none of its inputs, options and variables, nor the program, changed.

Exit status: 0 every run finished, 1 some did not (the table says why), 2 an input is wrong,
130 interrupted.
"""
import argparse
import fcntl
import os
import pathlib
import signal
import sys

import checkout

checkout.require_modules("yaml")

from clustersim import command
from clustersim.sweep import grid as grids
from clustersim.sweep import processes, runs, table
from clustersim.sweep.errors import InputError
from clustersim.whole_file import write_text

ROOT = pathlib.Path(__file__).absolute().parents[1]


def available_bytes():
    """@return the memory that the machine has to spare"""
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise InputError("/proc/meminfo: has no MemAvailable; expected Linux, or --memory")


def positive(text):
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
    return number


def parse(arguments):
    parser = argparse.ArgumentParser(prog="sweep.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", type=pathlib.Path, help="the sweep file (YAML)")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="directory of the results; else results/<name of the sweep file>")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="runs at the same time at most (%(default)s, the cores)")
    parser.add_argument("--memory", type=positive, metavar="GB",
                        help="memory of all runs together (80%% of what is free now)")
    parser.add_argument("--dry-run", action="store_true", help="list the runs, and why each is to be done")
    parser.add_argument("--any-build", action="store_true",
                        help="keep complete runs of another build of the program")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected 1 or more")
    return options


def bounds(options, grid):
    """@return how many runs go side by side, and the memory of each in bytes"""
    total = options.memory * 1e9 if options.memory else 0.8 * available_bytes()
    if not grid.memory_gb:
        return options.jobs, total / options.jobs
    each = grid.memory_gb * 1e9
    if each > total:
        raise InputError(f"{grid.path}: memory_gb is {grid.memory_gb:g} and there are {total / 1e9:.3g} GB for "
                         f"all runs; expected less, or --memory with more")
    return min(options.jobs, int(total // each)), each


def last_line(path):
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


class Sweep:
    def __init__(self, options):
        self.options = options
        self.grid = grids.read(options.grid, ROOT / "bin/SimAI_simulator")
        self.output = (options.output or pathlib.Path("results") / options.grid.stem).resolve()
        self.output.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.output / ".lock", "w", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.output}: another sweep writes there; expected a directory of its "
                             f"own (-o)") from None
        topologies = runs.generate_topologies(self.grid, self.output)
        self.runs = runs.make_runs(self.grid, self.output, topologies)
        self.by_name = {run.task.name: run for run in self.runs}
        self.notes = {}
        self.ended = 0

    def write_table(self):
        rows = [table.row_of(run, self.notes.get(run.task.name, "")) for run in self.runs]
        table.add_ratios(rows)
        for name, text in (("table.csv", table.to_csv(rows)), ("table.md", table.to_markdown(rows))):
            write_text(self.output / name, text)
        return rows

    def on_start(self, task):
        runs.prepare(self.by_name[task.name])

    def on_end(self, outcome):
        self.ended += 1
        name = outcome.task.name
        if outcome.reason:
            self.notes[name] = f"killed: {outcome.reason}"
        elif outcome.exit_status:
            self.notes[name] = f"exit status {outcome.exit_status}: {last_line(outcome.task.log)}"
        result = self.notes.get(name, "finished")
        print(f"[{self.ended}/{self.due}] {name}: {result} ({outcome.wall_s:.1f} s, "
              f"{outcome.peak_bytes / 1e6:.0f} MB)", flush=True)
        self.write_table()

    def execute(self):
        """@return the exit status"""
        jobs, memory = bounds(self.options, self.grid)
        reasons = {run.task.name: runs.why_incomplete(run, self.options.any_build) for run in self.runs}
        tasks = [run.task for run in self.runs if reasons[run.task.name]]
        self.due = len(tasks)
        print(f"{len(self.runs)} runs, {len(self.runs) - self.due} complete; {jobs} at a time, "
              f"{memory / 1e9:.3g} GB each", flush=True)
        if self.options.dry_run:
            for name, reason in reasons.items():
                print(f"{name}: {reason or 'complete'}")
            return 0
        processes.run_all(tasks, jobs, memory, self.grid.time_limit_s, self.on_start, self.on_end)
        rows = self.write_table()
        print(f"\n{table.to_markdown(rows)}\n{self.output / 'table.csv'}\n{self.output / 'table.md'}")
        return 0 if all(row["status"] == "finished" for row in rows) else 1


def interrupted(number, frame):
    raise KeyboardInterrupt


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        sweep = Sweep(options)
        try:
            return sweep.execute()
        except KeyboardInterrupt:
            sweep.write_table()
            print("sweep.py: interrupted; the same command goes on where it stopped", file=sys.stderr)
            return 130
    except (InputError, OSError) as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    command.run("sweep.py", main)
