# SPDX-License-Identifier: GPL-2.0-only
"""Random scenarios: some of them in every run of the tests, and that a fault would be found and made small."""
import csv
import dataclasses
import os
import pathlib
import stat
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from clustersim_lab.scenarios import KINDS, NETWORKS, WAYS, Refused, check, scenario, shrink  # noqa: E402
from clustersim_lab.scenarios.wide import CONF, ENVIRONMENT, WideScenario  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_what_must_hold_of_every_run_holds(tmp_path, first):
    result = subprocess.run([sys.executable, ROOT / "lab/scenarios.py", "--seed", "1", "--first", str(first), "--count",
                             "20",
                             "--programs", PROGRAMS, "-o", tmp_path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_way_to_simulate_comes_to_the_same(tmp_path):
    result = subprocess.run([sys.executable, ROOT / "lab/scenarios.py", "--compare", "ways", "--seed", "1", "--count",
                             "8",
                             "--programs", PROGRAMS, "-o", tmp_path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_reuse_takes_as_long_or_tells_why_it_may_not(tmp_path):
    result = subprocess.run([sys.executable, ROOT / "lab/scenarios.py", "--compare", "reuse", "--seed", "1", "--count",
                             "24",
                             "--programs", PROGRAMS, "-o", tmp_path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_jobs_with_reuse_have_all_there_is():
    drawn = [KINDS["reuse"].draw(3, number) for number in range(100)]
    assert drawn[7] == KINDS["reuse"].draw(3, 7)
    assert {dict(each.flags)["--network"] for each in drawn} == {"packet", "flow", "analytical"}
    assert all(each.layers and not each.flows and not each.events for each in drawn)
    assert any(each.pp > 1 for each in drawn) and any(each.ga > 2 for each in drawn) and any(len(each.layers) > 3
        for each in drawn)


# Two servers of two GPUs under one switch, where nothing is congested, and the same AllReduce eight times.
REPEATING = WideScenario("reuse", ("-topo", "Clos2", "-gps", "2", "-g", "4", "--nics_per_leaf", "4"),
                         flags=(("--network", "packet"),), tp=4,
                         layers=(((20_000, "ALLREDUCE", 300_000), (1000, "NONE", 0), (1000, "NONE", 0)),) * 8)
SLOWER = "sed -i -E 's/\"simulated_ns\": ([0-9]+)/\"simulated_ns\": 1\\1/'"


@pytest.mark.parametrize("mode, edit, name", [
    ("on", f"{SLOWER} run.json", "tells what it changes"),
    ("exact", f"{SLOWER} run.json", "tells what it changes"),
    ("on", "sed -i /fast_forward/,/}/d run.json; echo stray >> EndToEnd.csv", "leaves what a run without it does"),
    ("on", "sed -i 2d collectives.csv", "has the same collectives"),
    ("exact", "for ((i = 0; i < 3000000; ++i)); do :; done", "costs no more than twice as much"),
    ("on", "exit 1", "ends as without it")])
def test_reuse_that_differs_is_found(tmp_path, mode, edit, name):
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "SimAI_simulator"
    program.write_text(f'#!/bin/bash\n{PROGRAMS.resolve() / "SimAI_simulator"} "$@" || exit\n'
                       f'[[ "$*" = *--fast-forward={mode}* ]] && cd out && {{ {edit}; }}\ntrue\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert KINDS["reuse"].check(REPEATING, PROGRAMS, tmp_path / "right") is None
    failure = KINDS["reuse"].check(REPEATING, programs, tmp_path / "run")
    assert failure is not None and name in failure.check, failure


def test_scenarios_for_all_ways_have_all_there_is():
    drawn = [WAYS.draw(3, number) for number in range(1000)]
    assert drawn[7] == WAYS.draw(3, 7)
    kinds = {words.cluster[words.cluster.index("-topo") + 1] for words in drawn}
    assert {"Spectrum-X", "AlibabaHPN-SinglePlane", "AlibabaHPN-DualPlane", "DCN-SingleToR", "DCN-DualToR", "NVL36",
            "FatTree", "Clos2",
            "Clos3", "Dragonfly", "Torus", "RailOnly"} <= kinds
    assert {key for each in drawn for key, _ in each.conf} == set(CONF)
    assert {name for each in drawn for name, _ in each.environment} == {*ENVIRONMENT, "NCCL_COLLNET_ENABLE"}
    assert any(each.events for each in drawn) and any(each.flows and each.has_workload for each in drawn)
    assert any(each.pp > 1 for each in drawn) and any(each.micro for each in drawn)


# Eight servers of one host each, and nothing that happens twice in the same picosecond.
WIDE = WideScenario("wide", ("-topo", "Clos2", "-gps", "1", "-g", "8", "--nics_per_leaf", "4"), seed=2,
                    flows=tuple((host, host + 4, 3, 20_000 + 100 * host, host * 1e-6) for host in range(4)))


@pytest.mark.parametrize("condition, edit, name", [
    ('[[ "$*" = *"-t 2"* ]]', "echo stray >> fct.txt", "same bytes"),
    ('[[ "$*" = *"-t 2"* ]]', "sed -i 's/\"flows\": 4/\"flows\": 5/' run.json", "same figures"),
    ('[[ "$*" = *"Partitions=3"* ]]', "echo 'a flow is lost' >&2", "same messages"),
    ('[[ "$*" = *"-t 2"* ]]', "exit 1", "same status"),
    ('[[ "$*" = *"-t 2"* ]]', "kill -SEGV $$", "ends"),
    ('[[ "$*" = *"-t "* ]]', "sed -i 1d fct.txt", "same bytes"),
    ("true", "sed -i 's/ 20000 / 20001 /' fct.txt", "every flow once"),
    ("true", r"sed -i -E '/^0,/s/^(([^,]*,){4})/\19/' links.csv", "bytes are conserved"),
])
def test_ways_that_differ_are_found(tmp_path, condition, edit, name):
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "qbb-flows"
    program.write_text(f'#!/bin/bash\n{PROGRAMS.resolve() / "qbb-flows"} "$@" || exit\n'
                       f'{condition} && cd out && {{ {edit}; }}\ntrue\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    failure = WAYS.check(WIDE, programs, tmp_path / "run")
    assert failure is not None and failure.check == name, failure


def test_collectives_that_begin_at_once_have_the_same_numbers_in_every_way(tmp_path):
    """Whichever part of the job begins first, the least of the ranks that join in the same picosecond counts."""
    drawn = WideScenario("ids", ("-topo", "DCN-SingleToR", "-gps", "4", "-g", "16", "-gt", "A100", "-bw", "100Gbps",
                                 "-apbw", "100Gbps",
                                 "-l", "0.0001ms", "-psn", "2", "-npa", "2"), conf=(("CC_MODE", 8),), ep=2, pp=2,
                         pp_bytes=42460, seed=357,
                         layers=(((13501, "NONE", 0), (662, "NONE", 0), (2269, "ALLTOALL", 544)),
                                 ((7532, "NONE", 0), (14253, "ALLREDUCE_DP_EP", 642), (19338, "REDUCESCATTER", 24624))))
    assert WAYS.check(drawn, PROGRAMS, tmp_path) is None


def test_a_way_that_differs_shrinks(tmp_path):
    drawn = next(each for each in (WAYS.draw(5, number) for number in range(99)) if each.layers and each.conf
                 and each.environment)
    smaller = list(WAYS.smaller(drawn))
    assert len(smaller) > 5 and drawn not in smaller
    assert all(each.has_workload for each in smaller)


def test_several_groups_of_engines_in_nics_are_drawn():
    """Each rank is in groups of two kinds, whose collectives ACCL carries out at a time."""
    for kind in (NETWORKS, WAYS):
        drawn = [each for each in (kind.draw(1, number) for number in range(300))
                 if dict(each.conf).get("COLLECTIVE_ENGINE") == "ACCL" and each.has_workload]
        assert any(1 < each.tp < each.gpus for each in drawn) and any(each.gpus > each.tp == 1 for each in drawn)


def test_engines_of_several_groups_pass_the_checks(tmp_path):
    drawn = dataclasses.replace(LAYERS, servers=4, gpus_per_server=1, leaves=1, spines=0, tp=2, passes=2,
                                conf=(("COLLECTIVE_ENGINE", "ACCL"),),
                                layers=(("ALLGATHER", "TP", 30000, 100), ("ALLREDUCE", "TP", 2000, 100)))
    assert check(drawn, PROGRAMS, tmp_path / "run") is None
    names = {row["group"] for row in csv.DictReader((tmp_path / "run/packet/collectives.csv").open(newline="",
        encoding="utf-8"))}
    assert names == {"TP0", "TP1", "DP0", "DP1"}


def test_the_same_seed_draws_the_same_scenario():
    assert scenario(3, 7) == scenario(3, 7) != scenario(3, 8)
    drawn = [scenario(3, number) for number in range(100)]
    assert any(each.flows for each in drawn) and any(each.layers for each in drawn)
    assert any(each.failures for each in drawn) and any(not each.is_lossless for each in drawn)


def broken_programs(tmp_path, edit):
    """@return a directory of programs whose results are edited by a shell command in the output directory"""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("SimAI_simulator", "qbb-flows"):
        program = folder / name
        program.write_text(f'#!/bin/bash\n{PROGRAMS.resolve() / name} "$@" || exit\n'
                           f'while [ "$1" != -o ]; do shift; done\n'
                           f'cd "$2"\n{edit}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


FLOWS = next(each for each in (scenario(1, number) for number in range(100))
             if len(each.flows) > 5 and each.is_lossless)
LAYERS = next(each for each in (scenario(1, number) for number in range(100))
              if each.layers and each.is_lossless and each.gpus > each.tp > 1)


# Lines are: time, node, its type, port, paused or not, and the priority but in the HPCC simulator's file.
@pytest.mark.parametrize("lines", [
    ("1 2 1 3 1 3", "2 2 1 3 1 4", "3 2 1 3 0 4", "4 2 1 3 0 3", "5 2 1 3 1 3"),
    ("1 2 1 3 1", "2 2 1 4 1", "3 2 1 3 0"),
])
def test_pauses_alternate_for_each_port_and_priority(tmp_path, lines):
    edit = f"printf '%s\\n' {' '.join(map(repr, lines))} > pfc.txt"
    assert check(FLOWS, broken_programs(tmp_path, edit), tmp_path / "run") is None


@pytest.mark.parametrize("drawn, edit, name", [
    (FLOWS, "sed -i 1d fct.txt", "every flow once"),
    (FLOWS, r"sed -i -E 's/ [0-9]+ ([0-9]+)$/ 1 \1/' fct.txt", "no flow is faster than alone"),
    (FLOWS, "echo $RANDOM$RANDOM >> fct.txt", "repeats are identical"),
    (FLOWS, "echo stray > stray.txt", "outputs"),
    (LAYERS, "sed -i '$d' collectives.csv", "every collective once"),
    (LAYERS, "sed -i 's/ALLREDUCE/ALLGATHER/I' collectives.csv", "every collective once"),
    (FLOWS, "echo '99999999999 2 1 3 0 3' >> pfc.txt", "pauses and resumes alternate"),
    (FLOWS, "printf '1 2 1 3 1 3\\n2 2 1 3 1 3\\n' > pfc.txt", "pauses and resumes alternate"),
    (FLOWS, "printf '1 2 1 3 1 3\\n2 2 1 3 0 4\\n' > pfc.txt", "pauses and resumes alternate"),
    (FLOWS, "printf '1 2 1 3 1 3\\n2 2 1 3 0 3\\n3 2 1 3 0 3\\n' > pfc.txt", "pauses and resumes alternate"),
    (FLOWS, "printf '1 2 1 3 1\\n2 2 1 3 0\\n3 2 1 3 0\\n' > pfc.txt", "pauses and resumes alternate"),
])
def test_faults_are_found(tmp_path, drawn, edit, name):
    failure = check(drawn, broken_programs(tmp_path, edit), tmp_path / "run")
    assert failure is not None and failure.check == name, failure


@pytest.mark.parametrize("kind, drawn, told", [(NETWORKS, FLOWS, ["0 /dev/null", "1 unset"]),
                                               (WAYS, WIDE, ["0 /dev/null"])], ids=["networks", "ways"])
def test_only_first_runs_look_for_leaks_and_count_what_is_run(tmp_path, monkeypatch, kind, drawn, told):
    monkeypatch.setenv("ASAN_OPTIONS", "malloc_context_size=2")
    script = f'echo "$ASAN_OPTIONS ${{GCOV_PREFIX:-unset}}" >> {tmp_path}/told'
    assert kind.check(drawn, broken_programs(tmp_path, script), tmp_path / "run") is None
    assert sorted(set((tmp_path / "told").read_text().splitlines())) == [f"malloc_context_size=2:detect_leaks={each}"
                                                                         for each in told]


def test_a_failure_has_the_command_that_repeats_it(tmp_path):
    programs = broken_programs(tmp_path, """grep -q '"network": "flow"' run.json && rm fct.txt; true""")
    failure = check(LAYERS, programs, tmp_path / "run")
    assert failure.check == "outputs"
    assert failure.command[0] == str(programs / "SimAI_simulator") and "flow" in failure.command
    assert subprocess.run(failure.command, cwd=tmp_path / "run", check=False).returncode == 0


# Neither senders that meet nor stretched acknowledgements: packets and flows are within 10%, so 15% are noticed.
ALONE = dataclasses.replace(LAYERS, servers=2, gpus_per_server=1, leaves=1, spines=0, tp=1, conf=(),
                            layers=(("ALLREDUCE", "DP", 100000, 100),))


@pytest.mark.parametrize("factor, name", [(1.15, "packets agree with flows"), (1.02, None)])
def test_packets_that_take_longer_than_flows_are_found(tmp_path, factor, name):
    edit = (r"""grep -q '"network": "packet"' run.json && python3 - << 'END'
import json
record = json.load(open("run.json"))
record["simulated_ns"] *= %s
json.dump(record, open("run.json", "w"))
END
true""" % factor)
    failure = check(ALONE, broken_programs(tmp_path, edit), tmp_path / "run")
    assert failure is None if name is None else failure.check == name, failure


@pytest.mark.parametrize("number", [
    # Of rings 0>1>2>3>0 over two leaves two flows share each link of the spine. Packets take 0.86 of the time of
    # fluids: each step's latency passes behind the other flow's data.
    71,
    # Three PFC frames among 13,944 bytes of acknowledgements: links.csv had their time, and not their bytes.
    6852,
    # A queue pair's rate rose after a frame, made its turn come, and fell while other pairs kept the NIC: it sends all
    # the same.
    4843,
])
def test_what_failed_once_holds(tmp_path, number):
    assert check(scenario(20261122, number), PROGRAMS, tmp_path) is None


def test_a_failure_shrinks_to_what_it_needs(tmp_path):
    # Wrong only where a conf has CC_MODE 3: all else can go.
    programs = broken_programs(tmp_path, "grep -q 'CC_MODE 3' ../conf && echo '99999999999 2 1 3 0 3' >> pfc.txt; true")
    drawn = dataclasses.replace(FLOWS, conf=(("CC_MODE", 3), ("RATE_BOUND", 0), ("BUFFER_SIZE", 16)))
    failure = check(drawn, programs, tmp_path / "run")
    smallest = shrink(drawn, failure.check, programs, tmp_path / "run", NETWORKS)
    assert smallest.conf == (("CC_MODE", 3),)
    assert len(smallest.flows) == 1 and smallest.flows[0][2] == 1
