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
and OUTPUT/table.md as runs end. Started again it does only what is not complete: a run counts as complete
when its run.json says so and none of its inputs, options and variables, nor the program, changed.

The runs go side by side on this machine, or with --profile by Snakemake on a cluster. What follows -- goes
to Snakemake as it is: sweep.py grid.yaml -- --cluster "sbatch --mem={resources.mem_mb}".

Exit status: 0 every run finished, 1 some did not (the table says why), 2 an input is wrong, 129, 130 and 143 ended
by SIGHUP (a closed terminal), SIGINT and SIGTERM; runs under way end, too.
"""
import argparse
import fcntl
import os
import pathlib
import time
from collections.abc import Iterable

from clustersim import command, progress, simulation
from clustersim.errors import InputError
from clustersim.required_modules import require

require("yaml", "pydantic")

from clustersim.sweep import grid as grids  # noqa: E402
from clustersim.sweep import runs, table, workflow  # noqa: E402
from clustersim.sweep.supervisor import Outcome
from clustersim.whole_file import write_text  # noqa: E402

TABLE_S = 1.0  # from one table to the next: with a thousand rows, each takes tens of milliseconds


def available_bytes() -> int:
    """@return the memory that the machine has to spare"""
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise InputError("/proc/meminfo: has no MemAvailable; expected Linux, or --memory")


def positive(text: str) -> float:
    """@return the number @raise ArgumentTypeError unless it is above 0"""
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not valid; expected a number above 0")
    return number


def make_parser() -> command.Parser:
    parser = command.Parser(prog=command.name(), description=__doc__, allow_abbrev=False,
                            formatter_class=command.HelpFormatter)
    parser.add_argument("grid", type=pathlib.Path, help="file with the grid (YAML)")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="directory for the results (default: results/<name of the sweep file>)")
    parser.add_argument("-j", "--jobs", type=int,
                        help="most runs at a time (default: the cores of this machine; with --profile, the profile's "
                        "number)")
    parser.add_argument("--memory", type=positive, metavar="GB",
                        help="memory of all runs together (default: 80%% of the free memory)")
    parser.add_argument("--profile", metavar="NAME",
                        help="Snakemake's profile of a cluster: a directory with a config.yaml")
    parser.add_argument("--dry-run", action="store_true", help="list the runs, and why each has to be done")
    parser.add_argument("--any-build", action="store_true",
                        help="keep complete runs of another build of the program")
    parser.add_argument("snakemake", nargs="*", metavar="-- ARGUMENT", help="further arguments of Snakemake")
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = make_parser()
    options = parser.parse_args(arguments[:cut])
    if options.snakemake:
        parser.error(f"'{options.snakemake[0]}' is one argument too many; expected one sweep file (Snakemake's "
                     "arguments follow --)")
    options.snakemake = arguments[cut + 1:]
    if options.jobs is not None and options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected 1 or more")
    return options


def bounds_of(options: argparse.Namespace, grid: grids.Grid) -> workflow.Bounds:
    """@return what the runs may use; a cluster's profile says itself how much there is"""
    each, limit = (grid.memory_gb or 0) * 1e9, grid.time_limit_s or 0
    if workflow.is_remote(options.profile, options.snakemake):
        return workflow.Bounds(options.jobs or 0, (options.memory or 0) * 1e9, each, limit)
    jobs = options.jobs or len(os.sched_getaffinity(0))
    total = options.memory * 1e9 if options.memory else 0.8 * available_bytes()
    if each > total:
        raise InputError(f"{grid.path}: memory_gb is {grid.memory_gb:g} and there are {total / 1e9:.3g} GB for "
                         f"all runs; expected less, or --memory with more")
    each = each or total / jobs
    return workflow.Bounds(min(jobs, int(total // each)), total, each, limit)


def last_line(path: pathlib.Path) -> str:
    """@return the last line that is not blank; empty if the file cannot be read"""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def describe(run: runs.Run, outcome: Outcome | None) -> str:
    """@return why a run did not finish, or an empty string"""
    if outcome is None:
        return "did not start, or its machine ended it: snakemake.log says more"
    if outcome["reason"]:
        return f"killed: {outcome['reason']}"
    if outcome["exit_status"]:
        return f"exit status {outcome['exit_status']}: {last_line(run.directory / 'output.txt')}"
    return ""


class Sweep:
    """A sweep that holds the lock of its output directory. @raise InputError if another one holds it"""
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        try:
            self.grid = grids.read(options.grid, simulation.find_program)
        except FileNotFoundError as error:
            raise InputError(error) from None
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
        self.rows = {run.name: table.row_of(run, "") for run in self.runs}
        self.due = self.ended = 0  # numbers of runs
        self.written = time.monotonic()
        self.minutes = progress.Minutes()

    def write_table(self) -> list[table.Row]:
        """Writes table.csv and table.md. @return their rows"""
        rows = list(self.rows.values())
        table.add_ratios(rows)
        for name, text in (("table.csv", table.to_csv(rows)), ("table.md", table.to_markdown(rows))):
            write_text(self.output / name, text)
        self.written = time.monotonic()
        return rows

    def on_end(self, run: runs.Run, outcome: Outcome | None) -> None:
        """Reads the results of a run, prints how it ended and renews the table. @param outcome None if it left none"""
        self.ended += 1
        note = describe(run, outcome)
        self.rows[run.name] = table.row_of(run, note)
        cost = f" ({outcome['wall_s']:.1f} s, {outcome['peak_bytes'] / 1e6:.0f} MB)" if outcome else ""
        print(f"[{self.ended}/{self.due}] {run.name}: {note or 'finished'}{cost}", flush=True)
        if time.monotonic() - self.written >= TABLE_S:
            self.write_table()

    def on_look(self, running: Iterable[runs.Run]) -> None:
        """Prints each minute how far the runs are that are under way."""
        if self.minutes.is_over():
            states = [f"{run.name}: {said}" for run in running if (said := progress.of_run(run.directory))]
            print("\n".join([f"[{self.ended}/{self.due}] under way:", *states]), flush=True)

    def execute(self) -> int:
        """@return the exit status"""
        bounds = bounds_of(self.options, self.grid)
        reasons = {run.name: runs.why_incomplete(run, self.options.any_build) for run in self.runs}
        due = [run for run in self.runs if reasons[run.name]]
        self.due = len(due)
        at_once = f"{bounds.jobs} at a time" if bounds.jobs else "as many at a time as the profile says"
        each = f", {bounds.each_bytes / 1e9:.3g} GB each" if bounds.each_bytes else ""
        print(f"{len(self.runs)} runs, {len(self.runs) - self.due} complete; {at_once}{each}", flush=True)
        if self.options.dry_run:
            for name, reason in reasons.items():
                print(f"{name}: {reason or 'complete'}")
            return 0
        if due:
            self.do(due, bounds)
        rows = self.write_table()
        print(f"\n{table.to_markdown(rows)}\n{self.output / 'table.csv'}\n{self.output / 'table.md'}")
        return 0 if all(row["status"] == "finished" for row in rows) else 1

    def do(self, due: list[runs.Run], bounds: workflow.Bounds) -> None:
        """Does the runs that are due."""
        profile, further = self.options.profile, self.options.snakemake
        if profile or further:
            workflow.execute_by_snakemake(self.output, due, bounds, profile, further, self.on_end)
        else:
            workflow.execute_here(self.output, due, bounds, self.on_end, self.on_look)


def main(arguments: list[str]) -> int:
    sweep = Sweep(parse(arguments))
    try:
        return sweep.execute()
    except BaseException:
        sweep.write_table()
        raise


def run() -> None:
    command.run(command.name(), main, InputError, "the same command goes on where it stopped")
