# SPDX-License-Identifier: GPL-2.0-only
"""--fast-forward-store from the outside: outputs are those of a run without it, whatever is in the store."""
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest
from repeating_job import CONF, MIB, ROOT, backends, congested_all_to_alls, job_of_two_servers
from waiting import HANGS

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])


def environment(**variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_", "NS_"))}
    return {**clean, **variables}


def command(out, *arguments, program=PROGRAMS / "SimAI_simulator"):
    return [str(program), "-o", str(out), *map(str, arguments)]


def run(out, *arguments, variables=None, **how):
    result = subprocess.run(command(out, *arguments, **how), env=environment(**(variables or {})), capture_output=True,
                            text=True,
                            timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    return result


def store_of(out):
    return json.loads((out / "run.json").read_text())["fast_forward"]


def outputs(out):
    """The bytes of all files that a run has written but its record."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}


@pytest.fixture(scope="module", name="job")
def arguments_of_the_job(tmp_path_factory):
    return (*job_of_two_servers(tmp_path_factory.mktemp("job")), "-c", CONF)


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
@pytest.mark.parametrize("mode", ["on", "exact"])
def test_a_second_run_simulates_nothing_and_gives_the_same(tmp_path, job, network, mode):
    flags = (*job, "--network", network, "--fast-forward", mode)
    run(tmp_path / "without", *flags)
    for name in ("first", "second"):
        run(tmp_path / name, *flags, "--fast-forward-store", tmp_path / "store")
        assert outputs(tmp_path / name) == outputs(tmp_path / "without")
    without, first, second = (store_of(tmp_path / name) for name in ("without", "first", "second"))
    assert "store" not in without and first["store"] == str(tmp_path / "store")
    assert first["patterns_from_store"] == first["from_store"] == 0
    assert (first["patterns_simulated"], first["simulated"]) == (without["patterns_simulated"], without["simulated"])
    assert second["patterns_simulated"] == second["simulated"] == 0
    assert (second["patterns_from_store"], second["from_store"]) == (first["patterns_simulated"], first["simulated"])


def test_modes_share_a_store_and_keep_their_own_results(tmp_path, job):
    for mode in ("on", "exact", "verify", "exact", "on"):
        run(tmp_path / "without", *job, "--fast-forward", mode)
        out = tmp_path / mode
        run(out, *job, "--fast-forward", mode, "--fast-forward-store", tmp_path / "store")
        assert outputs(out) == outputs(tmp_path / "without")


def test_another_workload_reuses_what_it_shares(tmp_path, job):
    run(tmp_path / "first", *job, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    # The first layer is the same, so the group within a server carries out the same AllGather of 4 MiB.
    layers = [("a", 5000, "ALLGATHER", 4 * MIB, "ALLREDUCE", 2 * MIB), ("z", 100, "REDUCESCATTER", MIB, "NONE", 0)]
    backends.layers(tmp_path / "w.txt", 8, layers, tp=4)
    other = ("-w", tmp_path / "w.txt", *job[2:])
    run(tmp_path / "without", *other, "--fast-forward")
    run(tmp_path / "other", *other, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    assert outputs(tmp_path / "other") == outputs(tmp_path / "without")
    forward = store_of(tmp_path / "other")
    assert forward["patterns_from_store"] > 0 and forward["patterns_simulated"] > 0


def edited(path, source, old, new):
    text = source.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def of_another_build(path):
    """The program with another build ID in its note: size of the name, of the ID, type, name."""
    code = bytearray((PROGRAMS / "SimAI_simulator").read_bytes())
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
    code[code.index(note) + len(note)] ^= 1
    path.write_bytes(code)
    path.chmod(0o755)
    return path


# Each kind of input, and what makes another one of it.
DIFFERENT = {
    "a topology with another rate": lambda at, job: {"topology": edited(at / "n", job[3], "400Gbps", "200Gbps")},
    "a topology with another delay": lambda at, job: {"topology": edited(at / "n", job[3], "0.0005ms", "0.0006ms")},
    "a topology with another GPU": lambda at, job: {"topology": edited(at / "n", job[3], "H100", "A100")},
    "a key of the configuration": lambda at, job: {"conf": edited(at / "c", CONF, "PACKET_PAYLOAD_SIZE",
        "PACKET_PAYLOAD_SIZE 4000\n#")},
    "a key given as a flag": lambda at, job: {"flags": ("--set", "PACKET_PAYLOAD_SIZE=4000")},
    "an attribute of ns-3": lambda at, job: {"flags": ("--ns3::RdmaHw::DataOverhead=52",)},
    "an attribute of ns-3 as a variable": lambda at,
    job: {"variables": {"NS_ATTRIBUTE_DEFAULT": "ns3::RdmaHw::DataOverhead=52"}},
    "an attribute that nothing uses": lambda at, job: {"flags": ("--ns3::RdmaTimely::Beta=0.5",)},
    "a real number's seventh digit": lambda at,
    job: {"variables": {"NS_ATTRIBUTE_DEFAULT": "ns3::RdmaDcqcn::EwmaGain=0.0048828126"}},
    "a time's seventh digit": lambda at,
    job: {"variables": {"NS_ATTRIBUTE_DEFAULT": "ns3::RdmaDcqcn::RpTimer=300000001ps"}},
    "a run number": lambda at, job: {"flags": ("--RngRun=2",)},
    "a seed": lambda at, job: {"flags": ("--seed", "7")},
    "a kind of network": lambda at, job: {"flags": ("--network-kind", "RoCE")},
    "flows": lambda at, job: {"flags": ("--network", "flow")},
    "formulas": lambda at, job: {"flags": ("--network", "analytical")},
    "NCCL's algorithm": lambda at, job: {"variables": {"NCCL_ALGO": "Ring"}},
    "NCCL's channels": lambda at, job: {"variables": {"NCCL_MAX_NCHANNELS": "2"}},
    "NCCL's release": lambda at, job: {"variables": {"NCCL_TUNING": "2.18"}},
    "a latency": lambda at, job: {"variables": {"AS_SEND_LAT": "3"}},
    "a rate of NICs": lambda at, job: {"variables": {"AS_NET_BW": "100"}},
    "a network that is divided": lambda at, job: {"flags": ("-t", "1")},
    "a limit of simulated time": lambda at, job: {"flags": ("--max-sim-time", "1s")},
    "another build of the program": lambda at, job: {"program": of_another_build(at / "program")},
}


@pytest.fixture(scope="module", name="filled")
def store_of_the_job(tmp_path_factory, job):
    store = tmp_path_factory.mktemp("filled") / "store"
    run(store.parent / "out", *job, "--fast-forward", "--fast-forward-store", store)
    return store


@pytest.mark.parametrize("kind", DIFFERENT)
def test_nothing_is_reused_where_an_input_differs(tmp_path, job, filled, kind):
    how = DIFFERENT[kind](tmp_path, job)
    arguments = ("-w", job[1], "-n", how.pop("topology", job[3]), "-c", how.pop("conf", CONF), *how.pop("flags", ()),
                 "--fast-forward")
    run(tmp_path / "without", *arguments, **how)
    run(tmp_path / "with", *arguments, "--fast-forward-store", filled, **how)
    assert store_of(tmp_path / "with")["patterns_from_store"] == 0
    assert outputs(tmp_path / "with") == outputs(tmp_path / "without")
    run(tmp_path / "again", *arguments, "--fast-forward-store", filled, **how)
    assert store_of(tmp_path / "again")["patterns_simulated"] == 0
    assert outputs(tmp_path / "again") == outputs(tmp_path / "without")


def test_runs_on_any_number_of_threads_share_patterns(tmp_path, job):
    for threads in (1, 2):
        run(tmp_path / str(threads), *job, "-t", threads, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    assert store_of(tmp_path / "2")["patterns_simulated"] == 0
    assert outputs(tmp_path / "1") == outputs(tmp_path / "2")


def test_what_a_table_of_gpus_says_counts(tmp_path, job):
    """Its name does not."""
    store = tmp_path / "store"
    for number, (latency, is_new) in enumerate(((45, True), (45, False), (46, True))):
        table = tmp_path / f"gpus-{number}"
        table.write_text(f"MyGpu: {{generation: Blackwell, channel_gbps: {latency}, usable_gbps: 720}}\n")
        run(tmp_path / "out", *job, "--gpu-table", table, "--fast-forward", "--fast-forward-store", store,
            variables={"AS_GPU_TYPE": "MyGpu"})
        assert (store_of(tmp_path / "out")["patterns_from_store"] == 0) == is_new


def test_where_files_are_and_what_is_printed_makes_no_difference(tmp_path, job, filled):
    for name in ("topology", "conf", "workload"):
        shutil.copy(dict(topology=job[3], conf=CONF, workload=job[1])[name], tmp_path / name)
    run(tmp_path / "out", "-w", tmp_path / "workload", f"--topology={tmp_path / 'topology'}", "-c", tmp_path / "conf",
        "-q",
        "--max-time", "1h", "--timeline-ranks", "2", "--fast-forward=exact", "--fast_forward_store", filled)
    assert store_of(tmp_path / "out")["patterns_simulated"] == 0


def given_up(out):
    return json.loads((out / "run.json").read_text())["fast_forward_given_up"]["simulated"]


def test_a_run_begins_anew_as_without_a_store(tmp_path):
    """The content of the store makes no difference to when reuse does not pay; results are those of a run without the
    flag."""
    job = (*congested_all_to_alls(tmp_path, 1), "-c", CONF)
    run(tmp_path / "whole", *job)
    run(tmp_path / "without", *job, "--fast-forward")
    for name in ("first", "second"):
        run(tmp_path / name, *job, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    for name in ("without", "first", "second"):
        assert outputs(tmp_path / name) == outputs(tmp_path / "whole")
    assert given_up(tmp_path / "first") == given_up(tmp_path / "without") > given_up(tmp_path / "second") == 0


@pytest.mark.parametrize("offset, bytes_", [(0, b"SQLite gormat 3"), (16, b"\xff\xff"), (18, b"\x09\x09"),
                                            (44, b"\0\0\0\x09"), (68, b"none"), (100, b"\x07")])
def test_a_damaged_header_is_a_warning_and_the_store_begins_anew(tmp_path, job, filled, offset, bytes_):
    """The text at the start, the size of pages, versions, the format of the schema, the program's number, the kind of
    the first page."""
    run(tmp_path / "without", *job, "--fast-forward")
    data = bytearray(filled.read_bytes())
    data[offset:offset + len(bytes_)] = bytes_
    store = tmp_path / "store"
    store.write_bytes(data)
    for is_damaged in (True, False):
        result = run(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store", store)
        assert result.returncode == 0, result.stderr
        assert (
            f"warning: --fast-forward-store: {store} is damaged, and begins anew" in result.stderr.splitlines()
        ) == is_damaged
        assert (store_of(tmp_path / "out")["patterns_simulated"] > 0) == is_damaged
        assert outputs(tmp_path / "out") == outputs(tmp_path / "without")


def test_several_runs_write_at_once(tmp_path, job):
    run(tmp_path / "without", *job, "--fast-forward")
    outs = [tmp_path / f"out-{i}" for i in range(4)]
    runs = [subprocess.Popen(command(out, *job, "--fast-forward", "--fast-forward-store", tmp_path / "store"),
                             env=environment(),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for out in outs]
    for each, out in zip(runs, outs):
        _, errors = each.communicate(timeout=HANGS)
        assert each.returncode == 0 and "store" not in errors, errors
        assert outputs(out) == outputs(tmp_path / "without")


def test_runs_that_are_killed_leave_a_store_that_can_be_read(tmp_path, job):
    run(tmp_path / "without", *job, "--fast-forward")
    draw = random.Random(1)
    for _ in range(10):
        begun = subprocess.Popen(command(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store",
                                         tmp_path / "store"),
                                 env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 0.1))
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    result = run(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    assert "--fast-forward-store" not in result.stderr
    assert outputs(tmp_path / "out") == outputs(tmp_path / "without")


def test_a_damaged_store_is_a_warning_and_is_repaired(tmp_path, job, filled):
    store = shutil.copy(filled, tmp_path / "store")
    run(tmp_path / "without", *job, "--fast-forward")
    with sqlite3.connect(store) as database:
        database.execute("UPDATE outcomes SET value = zeroblob(length(value))")
    database.close()
    result = run(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store", store)
    [line] = [line for line in result.stderr.splitlines() if "store" in line]
    assert line == f"warning: --fast-forward-store: {store} is damaged; missing outcomes are simulated again"
    assert outputs(tmp_path / "out") == outputs(tmp_path / "without")
    result = run(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store", store)
    assert "damaged" not in result.stderr and store_of(tmp_path / "out")["patterns_simulated"] == 0


def refusal(out, *arguments):
    result = subprocess.run(command(out, *arguments), env=environment(), capture_output=True, text=True, timeout=HANGS,
                            check=False)
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert "; expected " in line
    return line


def test_what_cannot_be_a_store_is_refused_at_the_start(tmp_path, job):
    (tmp_path / "file").write_text("thesis" * 1000)
    (tmp_path / "papers").mkdir()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "CACHEDIR.TAG").write_text("")
    ask = (*job, "--fast-forward", "--fast-forward-store")
    expected = "; expected an SQLite file of --fast-forward-store, or one that can be made"
    assert refusal(tmp_path / "o", *ask, tmp_path
                   / "file") == f"{tmp_path}/file: is not a store, or is damaged beyond recognition{expected}"
    assert refusal(tmp_path / "o", *ask, tmp_path / "papers") == f"{tmp_path}/papers: is a directory{expected}"
    assert refusal(tmp_path / "o", *ask, tmp_path
                   / "old") == f"{tmp_path}/old: is a directory, as stores of earlier versions were{expected}"
    assert refusal(tmp_path / "o", *ask, tmp_path / "s", "--fast-forward-store-size", "0") == (
        "command line: --fast-forward-store-size is 0; expected MiB, 1 or more")


def test_without_fast_forward_it_has_no_effect(tmp_path, job):
    result = run(tmp_path / "out", *job, "--fast-forward-store", tmp_path / "store")
    assert "warning: --fast-forward-store has no effect without --fast-forward" in result.stderr.splitlines()
    assert not (tmp_path / "store").exists()


def test_a_store_keeps_to_its_bound(tmp_path, job, filled):
    store = shutil.copy(filled, tmp_path / "store")
    database = sqlite3.connect(store, isolation_level=None)
    database.execute("DELETE FROM outcomes")
    database.execute(f"PRAGMA max_page_count = {MIB // 4096}")
    rows = 0
    with pytest.raises(sqlite3.OperationalError, match="full"):
        while True:
            database.execute("INSERT INTO outcomes VALUES (?, zeroblob(32), ?, zeroblob(1000))",
                             (rows.to_bytes(32, "big"), rows))
            rows += 1
    database.close()
    flags = (*job, "--fast-forward", "--fast-forward-store", store, "--fast-forward-store-size", "1")
    for seed in range(6):
        run(tmp_path / "out", *flags, "--seed", seed + 1)
        assert store_of(tmp_path / "out")["patterns_from_store"] == 0
        assert pathlib.Path(store).stat().st_size <= MIB
    with sqlite3.connect(store) as database:
        left = [number for number, in database.execute("SELECT used FROM outcomes WHERE used < 10000 ORDER BY used")]
    database.close()
    assert rows / 2 < len(left) < rows and left == list(range(rows - len(left),
        rows)), "the oldest are gone, and no more than had to"
    run(tmp_path / "out", *flags, "--seed", 6)
    assert store_of(tmp_path / "out")["patterns_simulated"] == 0


def test_verifying_simulates_a_sample_of_what_came_from_the_store(tmp_path, job, filled):
    result = run(tmp_path / "out", *job, "--fast-forward=verify", "--fast-forward-store", filled)
    forward = store_of(tmp_path / "out")
    patterns = forward["patterns_from_store"]
    assert patterns > 1 and forward["store_verified"] == patterns.bit_length(), "the 1st, 2nd, 4th, 8th ..."
    assert forward["store_wrong"] == 0
    assert f"of {forward['store_verified']} patterns from the store 0 were wrong" in result.stdout


def test_passes_of_their_own_share_a_store(tmp_path, job):
    flags = (*job, "--separate-passes", "--passes", "2", "--fast-forward")
    run(tmp_path / "without", *flags)
    for name in ("first", "second"):
        run(tmp_path / name, *flags, "--fast-forward-store", tmp_path / "store")
        for number in ("pass-0", "pass-1"):
            assert outputs(tmp_path / name / number) == outputs(tmp_path / "without" / number)
    assert store_of(tmp_path / "second" / "pass-1")["patterns_simulated"] == 0


def test_a_replay_simulates(tmp_path, job):
    run(tmp_path / "out", *job, "--fast-forward", "--fast-forward-store", tmp_path / "store")
    run(tmp_path / "replay", "--replay", tmp_path / "out" / "run.json")
    assert "store" not in store_of(tmp_path / "replay")
    assert outputs(tmp_path / "replay") == outputs(tmp_path / "out")


def test_collective_perf_uses_it(tmp_path, job):
    flags = ["all_reduce_perf", "-b", "1M", "-e", "4M", "-f", "2", "-g", "8", "--all-iterations", "--network-topo",
             job[3],
             "--fast-forward"]
    kept_flags = ["--fast-forward-store", tmp_path / "store"]
    texts = [subprocess.run([PROGRAMS / "collective-perf", *flags, *more], env=environment(), capture_output=True,
                            text=True, check=True).stdout
             for more in ([], kept_flags, kept_flags)]
    assert texts[0] == texts[1] == texts[2]
    with sqlite3.connect(tmp_path / "store") as database:
        kept, = database.execute("SELECT count(*) FROM outcomes").fetchone()
        assert kept > 0
        database.execute("DELETE FROM outcomes")
    database.close()
    subprocess.run([PROGRAMS / "collective-perf", *flags, *kept_flags], env=environment(), capture_output=True,
                   check=True)
    with sqlite3.connect(tmp_path / "store") as database:
        assert database.execute("SELECT count(*) FROM outcomes").fetchone() == (kept,
            ), "all of it is simulated and kept again"
    database.close()


def test_all_runs_of_a_sweep_use_it(tmp_path, job):
    (tmp_path / "grid.yaml").write_text(
        f"program: {PROGRAMS}/SimAI_simulator\ntopologies: [{job[3]}]\nconf: [{CONF}]\nworkloads:\n"
        f"  - {job[1]}\n  - {{name: twice, file: {job[1]}, flags: --passes 2}}\n"
        f"network: [packet, flow]\nflags: --fast-forward --fast-forward-store {tmp_path}/store\n")
    for name in ("first", "second"):
        made = subprocess.run([ROOT / "scripts/sweep.py", tmp_path / "grid.yaml", "-j", "2", "-o", tmp_path / name],
                              env=environment(),
                              capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
    records = list((tmp_path / "second").rglob("run.json"))
    assert len(records) == 4
    assert all(store_of(record.parent)["patterns_simulated"] == 0 for record in records)
