#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plants faults in the sources, one at a time, and counts how many of them the tests find.

    scripts/maintain/mutants.py --count 40 --seed 1
    scripts/maintain/mutants.py --area mmu

A fault is one operator or constant that is another: < for <=, + for -, && for ||, true for false, 1 for 0, a statement
left out. Areas are congestion control, the MMU, collectives and units; each has the tests that must find its faults.
Works on a copy of the sources in build/mutants/, so the checkout is never touched. A fault that does not compile does
not count, nor one that the compiler warns of; one that makes tests run for too long is found.

What a fault cannot change for anybody counts as not found, although no test could find it: a round trip of 2 ps for one
of 1 ps, one digit less of a number (units.cc) that is far too large with or without it, ticks that are made up again
(rdma-dcqcn.cc) when none is left, a bound of what a switch admits without a closer look (switch-mmu.cc) where another
one decides.

Exit status: 0 at least --least per cent are found, 1 fewer, 2 an argument is wrong, or the tests fail without a fault.
"""
import argparse
import contextlib
import dataclasses
import fnmatch
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from clustersim import command  # noqa: E402
from clustersim.whole_file import write_text  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build/mutants"
BUILD = COPY / "source/build/release"
MODEL = "contrib/rdma-qbb/model"
FRONT = "contrib/astra-frontend/model"
COLLECTIVES = "contrib/collectives/model"
TIME_LIMIT_S = 300


class BaselineError(Exception):
    """No fault is planted yet, and all is not well."""


@dataclasses.dataclass(frozen=True)
class Area:
    """Sources, the programs that test them, and which of ns-3's suites do."""
    sources: tuple
    tests: tuple
    suites: str = ""


AREAS = {
    "congestion": Area((f"{MODEL}/congestion/*.cc", f"{MODEL}/congestion/*.h"), ("test-congestion",), "congestion"),
    "mmu": Area((f"{MODEL}/switch/switch-mmu.*",), ("test-switch",), "pfc"),
    "collectives": Area((f"{COLLECTIVES}/graph/*-graph.cc", f"{COLLECTIVES}/graph/double-tree.cc",
                         f"{COLLECTIVES}/graph/ring-order.cc",
                         f"{COLLECTIVES}/graph/channel-split.cc", f"{FRONT}/native/native-[dhr]*.cc",
                         f"{COLLECTIVES}/collective/divide-up.h"), ("test-nccl", "test-system")),
    "units": Area(("contrib/base/units.cc", "contrib/base/clock-range.h",
                   f"{MODEL}/events/serialization-delay.h"), ("test-input", "test-switch")),
}

# Text in a line, and its replacement.
FAULTS = [(re.compile(pattern), change) for pattern, change in (
    (r" < (?!<)", " <= "), (r" <= ", " < "), (r" > (?!>)", " >= "), (r" >= ", " > "), (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" % ", " / "), (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r"\+\+", "--"), (r"std::min", "std::max"), (r"std::max", "std::min"),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "2"),
    (r"^(\s+)[\w.\->\[\]]+ [-+]?= [^;]*;$", r"\1;"), (r"!(?=[\w(])", ""))]
NOT_CODE = re.compile(r"^\s*(//|/\*|\*|#|NS_LOG|NS_ASSERT|static_assert|template|using|\.Add|case "
                      r")|TypeId|Attribute|__builtin|Fail\(|"
                      r"InputError|const_cast|std::string\(|NS_|fmt::|\"|for \(const auto|enum|struct |class "
                      r"|private:|public:")


@dataclasses.dataclass(frozen=True)
class Fault:
    """One line of a source, and what it becomes."""
    path: pathlib.Path
    number: int
    before: str
    after: str

    def __str__(self):
        return f"{self.path}:{self.number}: {self.before.strip()}  ->  {self.after.strip()}"


def faults_of(path, text):
    """Yields every fault that can be planted in a source."""
    in_body = False
    for number, line in enumerate(text.split("\n"), 1):
        in_body = (in_body or line.startswith("{")) if path.suffix == ".cc" else True
        if not in_body or NOT_CODE.search(line):
            continue
        code = line.split("//")[0]
        for pattern, change in FAULTS:
            for match in pattern.finditer(code):
                after = code[:match.start()] + match.expand(change) + code[match.end():]
                yield Fault(path, number, line, after)


def draw(area, chance, count, sources):
    """@return faults of an area, in a random order, no two in one line"""
    found = [fault for pattern in area.sources for path in sorted(ROOT.glob(pattern))
             if fnmatch.fnmatch(path.name, sources)
             for fault in faults_of(path.relative_to(ROOT), path.read_text(encoding="utf-8"))]
    chance.shuffle(found)
    chosen = {}
    for fault in found:
        chosen.setdefault((fault.path, fault.number), fault)
    return list(chosen.values())[:count]


def prepare(areas, jobs):
    """Copies the sources, builds the tests once, and sees that they pass: else every fault would count as found."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, COPY / "source" / name
        if source.is_file() and (not target.exists() or target.read_bytes() != source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    data = COPY / "shared"  # where tests look for it, if there is any
    if not data.exists():
        data.symlink_to(ROOT.parent / "shared")
    # Each source alone, so that a fault costs one. Otherwise the flags of scripts/test.sh: ccache knows the tests.
    subprocess.run(["cmake", "--preset", "release", "-DWARNINGS_AS_ERRORS=ON", "-DCMAKE_UNITY_BUILD=OFF"],
                   cwd=COPY / "source", check=True, stdout=subprocess.DEVNULL)
    if not build(areas, jobs):
        raise BaselineError("the sources do not compile; expected a checkout that does, without warnings")
    for area in areas:
        if not tests_pass(area):
            raise BaselineError(f"{', '.join(area.tests)}: fail without a fault; expected a checkout whose tests pass")


def build(areas, jobs):
    targets = sorted({test for area in areas for test in area.tests} |
                     {"ns3-test-runner" for area in areas if area.suites})
    return subprocess.run(["cmake", "--build", BUILD, "-j", str(jobs), "--target", *targets],
                          capture_output=True).returncode == 0


def tests_pass(area):
    pattern = "|".join([*(test.removeprefix("test-") + "$" for test in area.tests),
                        *([area.suites] if area.suites else [])])
    # In a session of its own, so that a test that never ends does not outlive ctest.
    process = subprocess.Popen(["ctest", "--test-dir", BUILD, "-R", pattern, "--stop-on-failure"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(timeout=TIME_LIMIT_S) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def is_found(fault, area, jobs):
    """@return whether the tests find a fault; None if it does not compile"""
    path = COPY / "source" / fault.path
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    lines[fault.number - 1] = fault.after
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        return not tests_pass(area) if build([area], jobs) else None
    finally:
        path.write_text(text, encoding="utf-8")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", action="append", choices=AREAS, help="only these; may repeat")
    parser.add_argument("--sources", default="*", metavar="PATTERN",
                        help="only in files of such names, as *.cc: a header's fault compiles hundreds of files")
    parser.add_argument("--count", type=int, default=25, help="faults that compile, per area (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time (%(default)s)")
    parser.add_argument("--least", type=float, default=80, help="per cent that the tests must find (%(default)s)")
    parser.add_argument("--list", action="store_true", help="print the faults and exit")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", help="also write the outcome, as JSON")
    options = parser.parse_args(arguments)
    for name in ("count", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; expected 1 or more")
    return options


def main(arguments):
    options = parse(arguments)
    names = options.area or list(AREAS)
    chance = random.Random(options.seed)
    drawn = {name: draw(AREAS[name], chance, 3 * options.count, options.sources) for name in names}
    if options.list:
        for name in names:
            for fault in drawn[name][:options.count]:
                print(f"{name}: {fault}")
        return 0
    prepare([AREAS[name] for name in names], options.jobs)
    result = {}
    for name in names:
        found, survivors = 0, []
        for fault in drawn[name]:
            if found + len(survivors) == options.count:
                break
            outcome = is_found(fault, AREAS[name], options.jobs)
            found += outcome is True
            if outcome is False:
                survivors.append(str(fault))
                print(f"{name}: not found: {fault}", flush=True)
        result[name] = {"planted": found + len(survivors), "found": found, "survivors": survivors}
        print(f"{name}: {found} of {found + len(survivors)} found", flush=True)
    build([AREAS[name] for name in names], options.jobs)
    planted, found = (sum(each[key] for each in result.values()) for key in ("planted", "found"))
    if options.record:
        write_text(options.record, json.dumps({"seed": options.seed, "areas": result}, indent=1) + "\n")
    print(f"{found} of {planted} faults found ({100 * found / planted:.0f}%; expected {options.least:g}%)")
    return 0 if 100 * found >= options.least * planted else 1


if __name__ == "__main__":
    command.run("mutants.py", main, BaselineError)
