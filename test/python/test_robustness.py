# SPDX-License-Identifier: GPL-2.0-only
"""Outcomes that no input may cause: wrong numbers, mixed or half-written results, crashes, hangs."""
import contextlib
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess

import pytest
from waiting import HANGS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
SIMULATOR = PROGRAMS / "SimAI_simulator"
ANALYTICAL = PROGRAMS / "SimAI_analytical"
HEADER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {gpus} "
          "checkpoints: 0 checkpoint_initiates: 0\n1\n")
TOPOLOGY = "5 1 4\n4\n4 0 100Gbps 1us 0\n4 1 100Gbps 1us 0\n4 2 100Gbps 1us 0\n4 3 100Gbps 1us 0\n"
NETWORKS = ["packet", "flow", "analytical"]


def layer(name="layer", nanoseconds=1000, gpus=4, bytes=65536):
    return (HEADER.format(gpus=gpus) +
            f"{name} -1 {nanoseconds} ALLREDUCE_DP {bytes} 1 NONE 0 1 NONE 0 1\n")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "topology").write_text(TOPOLOGY)
    (tmp_path / "workload.txt").write_text(layer())
    (tmp_path / "long.txt").write_text(layer(bytes=1 << 20))
    (tmp_path / "conf").write_text("CC_MODE 1\n")
    (tmp_path / "flows").write_text("2\n0 1 3 100 20000 0.000001\n2 3 3 100 20000 0.000002\n")
    return tmp_path


def run(folder, *arguments, program=SIMULATOR, environment=None, **options):
    return subprocess.run([str(program), *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          timeout=HANGS, check=False, env={**os.environ, **(environment or {})}, **options)


def simulate(folder, *arguments, workload="workload.txt", output="out", **options):
    return run(folder, "-q", "-w", workload, "-n", "topology", "-c", "conf", "-o", output, *arguments, **options)


def record(folder, output="out"):
    return json.loads((folder / output / "run.json").read_text())


def refusal(result):
    """@return the one line that a refused run prints"""
    assert result.returncode == 2, (result.returncode, result.stderr)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1 and "; expected " in lines[0], result.stderr
    return lines[0]


# --- sums and the clock

def test_sums_over_many_ranks_do_not_overflow(folder):
    (folder / "w.txt").write_text(layer(nanoseconds=10**12, gpus=1024))
    result = run(folder, "-q", "-w", "w.txt", "-g", 1024, "-r_f", "out", "--passes", 10, program=ANALYTICAL)
    assert result.returncode == 0, result.stderr
    with (folder / "out/EndToEnd.csv").open(newline="") as file:
        names, values = list(csv.reader(file, skipinitialspace=True))[:2]
    summary = dict(zip(names, values))
    # Ten passes of 1000 s on every rank; the mean over ranks is that of one.
    assert float(summary["total comp"].split()[0]) == pytest.approx(10 * (10**12 + 2) / 1000)


@pytest.mark.parametrize("network", NETWORKS)
def test_work_past_the_end_of_the_clock_is_refused_by_name(folder, network):
    (folder / "w.txt").write_text(layer("slow", nanoseconds=10**15))
    line = refusal(simulate(folder, "--passes", 10, "--network", network, workload="w.txt"))
    assert line.startswith("w.txt: 'slow' begins at ") and "past the end of the simulated clock" in line
    assert record(folder)["status"] == "failed" and record(folder)["reason"] == line


@pytest.mark.parametrize("key, value", [("endpoint-delay", 1e300), ("local-mem-bw", 1e-300), ("L", 1e200),
                                        ("G", 1e40), ("local-reduction-delay", 1e19), ("peak-perf", 1e-30)])
def test_system_files_keep_times_in_range(folder, key, value):
    (folder / "system").write_text(json.dumps({"model-shared-bus": 1, "L": 1, "o": 1, "g": 1, "G": 1, key: value},
                                              indent=1))
    line = refusal(simulate(folder, "--system-configuration=system"))
    assert line.startswith("system:") and f": {key} is '" in line


def test_a_scale_that_makes_bytes_overflow_is_refused(folder):
    assert "--comm-scale" in refusal(simulate(folder, "--comm-scale", "1e300"))


# --- one run, one directory

def test_two_runs_do_not_share_a_directory(folder):
    with running(folder, "-w", "long.txt", "-n", "topology", "-c", "conf", "-o", "out", "--passes", 1000000):
        line = refusal(simulate(folder))
        assert line == ("out: is the output directory of a run that is still going on; "
                        "expected an output directory for each run (-o)")
        assert record(folder)["status"] == "running"
    assert simulate(folder).returncode == 0, "a lock dies with its run"
    assert record(folder)["status"] == "finished"


def test_a_refused_run_leaves_earlier_results_as_they_were(folder):
    assert simulate(folder).returncode == 0
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    refusal(simulate(folder, workload="no-such-file"))
    refusal(simulate(folder, "--pcap", "9:9"))
    refusal(simulate(folder, "--set", "LINK_DOWN=1 0 1"))
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_a_refused_run_says_so_where_there_are_no_results(folder):
    line = refusal(simulate(folder, workload="no-such-file"))
    assert record(folder)["status"] == "refused" and record(folder)["reason"] == line
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["run.json"]
    (folder / "bad-flows").write_text("1\n0 9 3 100 20000 0\n")
    result = run(folder, "-q", "-c", "conf", "-n", "topology", "-f", "bad-flows", "-o", "flows-out",
                 program=PROGRAMS / "qbb-flows")
    assert record(folder, "flows-out")["reason"] == refusal(result)


def test_results_of_an_earlier_run_do_not_survive(folder):
    many = ["--timeline-ranks", 2, "--pcap", "0:0"]
    assert simulate(folder, *many, "--set", "FCT_OUTPUT_FILE=mine.txt").returncode == 0
    (folder / "out/notes.txt").write_text("mine")
    assert {"timeline.json", "pauses.csv", "node-0-port-0.pcap", "mine.txt"} <= set(record(folder)["outputs"])
    assert simulate(folder, "--network", "flow").returncode == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "EndToEnd.csv", "collectives.csv", "fct.txt", "links.csv", "notes.txt", "run.json"]
    assert record(folder)["outputs"] == ["EndToEnd.csv", "collectives.csv", "fct.txt", "links.csv"]


def test_default_directories_tell_runs_apart(folder):
    (folder / "other").write_text("CC_MODE 3\n")
    for arguments in (["-c", "conf"], ["-c", "other"], ["-c", "conf", "--network", "flow"], []):
        assert run(folder, "-q", "-w", "workload.txt", "-n", "topology", *arguments).returncode == 0
    assert sorted(path.name for path in (folder / "results").iterdir()) == [
        "workload_topology", "workload_topology_conf", "workload_topology_conf_flow", "workload_topology_other"]


# --- disks, memory, signals

def small_files(bytes):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))
    return limit


def test_a_full_disk_is_an_error_of_every_program(folder):
    result = run(folder, "--op", "AllReduce", "--nNodes", 2, "-o", "out", program=PROGRAMS / "SimCCL",
                 preexec_fn=small_files(4096))
    assert "ncclFlowModel_detailed_flows.csv: cannot be written: File too large" in refusal(result)
    assert not (folder / "out/ncclFlowModel_detailed_flows.csv").exists()
    for network in NETWORKS[:2]:
        result = simulate(folder, "--passes", 400, "--network", network, preexec_fn=small_files(20000))
        assert ": cannot be written: File too large" in refusal(result)
        assert not (folder / "out/EndToEnd.csv").exists()


@pytest.mark.parametrize("program, flags", [("SimAI_simulator", ["-w", "workload.txt", "-c", "conf"]),
                                            ("qbb-flows", ["-c", "conf", "-f", "flows"])])
@pytest.mark.parametrize("hosts", [20_000, 1_000_000], ids=["while the fabric is built", "while its topology is read"])
def test_memory_that_runs_out_is_told(folder, program, flags, hosts):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))

    def start(*more, **options):
        return run(folder, "-q", *flags, *more, program=PROGRAMS / program, **options)

    (folder / "conf").write_text("CC_MODE 1\nBUFFER_SIZE 1000\n")
    each = 20_000  # hosts of a switch
    switches = range(hosts, hosts + hosts // each)
    (folder / "big").write_text(f"{switches.stop} {len(switches)} {hosts}\n{' '.join(map(str, switches))}\n" + "".join(
        f"{switches[host // each]} {host} 100Gbps 1us 0\n" for host in range(hosts)))
    result = start("-n", "big", "-o", "out", preexec_fn=limit)
    assert result.returncode == 1 and result.stderr.startswith("out of memory"), result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert record(folder)["status"] == "failed" and record(folder)["reason"] + "\n" == result.stderr
    # The limit is enough for what is small, and results of before stay.
    good = start("-n", "topology", "-o", "out", preexec_fn=limit)
    assert good.returncode == 0, good.stderr
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert start("-n", "big", "-o", "out", preexec_fn=limit).returncode == 1
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before
    # The default directory is named after the inputs, which the command line names.
    assert start("-n", "big", preexec_fn=limit).returncode == 1
    [made] = (folder / "results").iterdir()
    assert "big" in made.name and json.loads((made / "run.json").read_text())["status"] == "failed"


def test_memory_may_run_out_anywhere(folder):
    # In a destructor, where nothing may be thrown, or in ns-3, which does not look whether malloc() has failed.
    hosts = 20_000
    (folder / "conf").write_text("CC_MODE 1\nBUFFER_SIZE 1000\n")
    (folder / "big").write_text(f"{hosts + 1} 1 {hosts}\n{hosts}\n"
                                + "".join(f"{hosts} {host} 100Gbps 1us 0\n" for host in range(hosts)))
    for limit in range(85_000, 125_000, 2500):
        result = run(folder, "-q", "-c", "conf", "-f", "flows", "-n", "big", "-o", f"out{limit}",
                     program=PROGRAMS / "qbb-flows",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit << 10, limit << 10)))
        assert result.returncode == 1 and result.stderr.startswith("out of memory"), (limit, result)
        assert len(result.stderr.splitlines()) == 1
        assert record(folder, f"out{limit}")["status"] == "failed", limit
        assert record(folder, f"out{limit}")["reason"] + "\n" == result.stderr


@contextlib.contextmanager
def running(folder, *arguments, program=SIMULATOR):
    """A program that goes on beside the test, and not after it."""
    process = subprocess.Popen([program, *map(str, arguments), "-q"], cwd=folder, text=True, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: (folder / "out/run.json").exists() and record(folder)["status"] == "running")
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_run_with_its_results_written(folder, network, number):
    with running(folder, "-w", "workload.txt", "-n", "topology", "-c", "conf", "-o", "out", "--network", network,
                 "--passes", 100000000) as process:
        # Its head is written at once, before time begins; rows come when a buffer is full.
        wait_until(lambda: any(path.read_bytes().count(b"\n") > 1
                               for path in (folder / "out").glob("collectives.csv*")))
        process.send_signal(number)
        said = process.communicate(timeout=HANGS)[1]
    assert process.returncode == 128 + number
    assert said.startswith(f"{number.name} before the workload finished, waiting at "), said
    assert record(folder)["status"] == "interrupted" and record(folder)["simulated_ns"] > 0
    rows = (folder / "out/collectives.csv").read_text()
    assert rows.endswith("\n") and rows.count("\n") == record(folder)["collectives"] + 1
    assert not (folder / "out/EndToEnd.csv").exists() and not list((folder / "out").glob("*.part"))


def test_a_run_under_nohup_outlives_its_terminal(folder):
    with running(folder, SIMULATOR, "-w", "long.txt", "-n", "topology", "-c", "conf", "-o", "out", "--max-time", "1s",
                 "--passes", 1000000, program="nohup") as process:
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=HANGS)
    assert process.returncode == 1 and record(folder)["status"] == "stopped"


def test_flows_and_estimates_end_cleanly_too(folder):
    (folder / "many").write_text("1\n0 1 3 100 100000000000 0\n")
    for program, arguments in (("qbb-flows", ["-c", "conf", "-n", "topology", "-f", "many", "-o", "out"]),
                               ("SimAI_analytical", ["-w", "workload.txt", "-g", "4", "-r_f", "out",
                                                     "--passes", "100000000"])):
        with running(folder, *arguments, program=PROGRAMS / program) as process:
            process.terminate()
            process.wait(timeout=HANGS)
        assert process.returncode == 143, program
        assert record(folder)["status"] == "interrupted"


@pytest.mark.parametrize("flags, reason", [
    (["--max-time", "0.2s"], "--max-time of 0.2 s is over before the workload finished"),
    (["--max-memory", "1MiB"], "--max-memory of 1 MiB is used up before the workload finished"),
    (["--max-sim-time", "2ms"], "--max-sim-time came before the workload finished")])
@pytest.mark.parametrize("network", NETWORKS)
def test_limits_stop_a_run_with_a_report(folder, flags, reason, network):
    result = simulate(folder, *flags, "--passes", 10000000, "--network", network, workload="long.txt")
    assert result.returncode == 1 and result.stderr.startswith(reason), result.stderr
    assert record(folder)["status"] == "stopped" and record(folder)["reason"] == reason


@pytest.mark.parametrize("flags", [["--max-time", "never"], ["--max-time", "0"], ["--max-memory", "much"],
                                   ["--max-memory", "0GiB"], ["--max-sim-time", "1 parsec"]])
def test_limits_that_are_none_are_refused(folder, flags):
    assert f"{flags[0]} is {flags[1]}" in refusal(simulate(folder, *flags)).replace("'", "")


def test_a_run_can_be_repeated_from_its_record(folder):
    first = simulate(folder, "--seed", 5, "--set", "ERROR_RATE_PER_LINK=0.01", environment={"NCCL_ALGO": "Tree"})
    assert first.returncode == 0
    assert run(folder, "--replay", "out/run.json", "-o", "again").returncode == 0
    for name in record(folder)["outputs"]:
        assert (folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes()
    assert "Tree" in (folder / "again/collectives.csv").read_text()
    # Limits and -q do not change what a run does, and the first had a -q, too.
    assert run(folder, "--replay", "out/run.json", "-o", "fourth", "-q", "--max-time", "1h").returncode == 0
    (folder / "conf").write_text("CC_MODE 3\n")
    assert refusal(run(folder, "--replay", "out/run.json", "-o", "third")).startswith("conf: is not what it was")
    assert "does not say what was run" in refusal(run(folder, "--replay=none.json", "-o", "third")) if (
        (folder / "none.json").write_text("{}")) else False


# --- inputs that are no files

def odd_paths(folder):
    (folder / "directory").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    return {"directory": "is a directory", "loop": "cannot be read", "pipe": "is a pipe", "/dev/zero": "is a device",
            "missing": "cannot be read", "x" * 300: "cannot be read"}


INPUT_FLAGS = [["-w"], ["-n"], ["-c"], ["--system-configuration"], ["--logical-topology-configuration"],
               ["--remote-memory-configuration"], ["--background-flows"], ["--gpu-table"]]


def says(reason, flag, line):
    """@return whether a refusal gives the reason; a workload that is no file may be meant as the prefix of traces"""
    return reason in line or (flag == "-w" and reason == "cannot be read" and "no such workload" in line)


def test_what_is_no_file_is_refused_as_every_input(folder):
    for path, reason in odd_paths(folder).items():
        for [flag] in INPUT_FLAGS:
            arguments = {"-w": "workload.txt", "-n": "topology", "-c": "conf"} | {flag: path}
            line = refusal(run(folder, "-q", "-o", "out", *(word for pair in arguments.items() for word in pair)))
            assert says(reason, flag, line), (flag, line)
        for flag in ("-w", "-busbw", "-n"):
            arguments = {"-w": "workload.txt", "-g": "4"} | {flag: path}
            assert says(reason, flag, refusal(run(folder, "-q", "-r_f", "out", program=ANALYTICAL,
                                                  *(word for pair in arguments.items() for word in pair))))


def command_refusal(folder, *words):
    """@return the one line by which a script refuses its arguments"""
    result = run(folder, *words[1:], program=ROOT / (words[0] if "/" in words[0] else f"scripts/{words[0]}"))
    assert result.returncode == 2 and "Traceback" not in result.stderr, (result.returncode, result.stderr)
    (line,) = result.stderr.splitlines()
    assert "; expected " in line, line
    return line


PLAN = ["plan.py", "--model", "llama2_7b", "--gpus", "8"]


@pytest.mark.parametrize("words", [
    [*PLAN, "--topology"], ["plan.py", "--gpus", "8", "--config"], [*PLAN, "--measured"], ["sweep.py"],
    ["hpcc_traffic.py", "--topology", "topology", "--sizes"], ["workload.py", "--world_size", "8", "--config"],
    ["workload.py", "--inference", "--model", "llama2_7b", "--world_size", "8", "--trace"],
    ["lab/netns_cluster.py", "-w", "workload.txt"], ["lab/netns_cluster.py", "topology", "--scale", "500", "-w"],
    ["goodput.py", "--part", "GPU=1:1", "--checkpoint", "60", "--restart", "60", "--run"], ["why.py"],
    ["topologies/gen_Topo_Template.py", "--check"],
    ["topologies/gen_Topo_Template.py", "-gt", "H100", "--astra_network"],
    ["topologies/gen_Topo_Template.py", "--describe", "topology", "--prices"]],
                         ids=lambda words: f"{words[0]} {words[-1]}")
def test_scripts_refuse_what_is_no_file(folder, words):
    odd_paths(folder)
    for path in ("pipe", "loop"):
        assert f"{path}: " in command_refusal(folder, *words, path), path


@pytest.mark.parametrize("words", [[*PLAN, "--topology"], ["plan.py", "--gpus", "8", "--config"], ["sweep.py"],
                                   ["lab/netns_cluster.py", "-w", "workload.txt"]],
                         ids=lambda words: f"{words[0]} {words[-1]}")
@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 9, b"[" * 30000 + b"]" * 30000, b"x" * (1 << 20),
                                     b"[.nan, 1e999, -1]\n",
                                     b"topologies: caf\xe9\n", b'{"topologies": {"file": 1}'],
                         ids=["empty", "binary", "deep", "long", "numbers", "latin", "truncated"])
def test_scripts_refuse_damaged_files(folder, words, content):
    (folder / "damaged").write_bytes(content)
    assert len(command_refusal(folder, *words, "damaged")) < 600, "long words are cut"


GOODPUT = ["goodput.py", "--checkpoint", "60", "--restart", "60"]
BOX = ["lab/netns_cluster.py", "topology", "-w", "workload.txt"]
CALIBRATE = ["calibrate.py", "-np", "2"]


@pytest.mark.parametrize("words", [
    [*GOODPUT, "--part", "GPU=0:1"], [*GOODPUT, "--part", "GPU=999999999999:0.000000001"],
    [*GOODPUT, "--part", f"GPU={'9' * 4000}:1"],
    *([*GOODPUT, "--part", "GPU=1000:50000", *more]
      for more in (["--days", "1e12"], ["--histories", "9" * 30], ["--interval", "nan"],
                                                                ["--seed", "-1"], ["--interval", "1e300"])),
    *([*BOX, *more] for more in (["--scale", "nan"], ["--scale", "1e-300"], ["--iterations", "0"],
                                 ["--iterations", "9" * 30])),
    ["lab/netns_cluster.py", "--compare", "--hosts", "1000000"],
    ["lab/netns_cluster.py", "--compare", "--iterations", "-1"],
    *([*CALIBRATE, *more] for more in (["-np", "1"], ["--smallest", "0"], ["--largest", "9" * 400],
                                       ["--iterations", "0"],
                                       ["--bound", "nan"], ["--mpirun", "'"], ["-o", "topology"])),
    [*PLAN[:-1], "9" * 30], *([*PLAN, *more] for more in (["--global_batch", "0"], ["--seq_length", "9" * 20],
                                                          ["--reserved_gb", "nan"],
                                  ["--gpu_hour", "inf"], ["--time_limit", "nan"], ["--prices", ""], ["--years", "0"])),
    ["lab/offload.py", "--sizes", "0"], ["lab/offload.py", "-o", "topology"],
    ["why.py", "directory", "--factor", "nan"],
], ids=lambda words: " ".join(words)[-40:])
def test_scripts_refuse_numbers_out_of_range(folder, words):
    command_refusal(folder, *words)


def test_what_mpirun_says_is_left_out_of_a_message(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python")
    from clustersim.physical import launch

    rule = "-" * 74 + "\n"
    said = f"w.txt:1: is wrong; expected more\nw.txt:1: is wrong; expected more\n{rule}mpirun detected\n{rule}"
    assert launch.words_of_ranks(said) == "w.txt:1: is wrong; expected more"
    assert (
        launch.words_of_ranks(f"{rule}no such\n  hostfile\n{rule}{rule}an error\n{rule}") == "mpirun: no such hostfile"
    )


SERVING = (ROOT / "workloads/serve_16g_colocated.txt").read_text()


def without(*keys):
    """@return the workload of requests without some of its lines"""
    return "".join(line + "\n" for line in SERVING.splitlines() if line.split(" ")[0] not in keys)


OF_A_TRACE = without("requests", "rate", "prompt_tokens", "output_tokens").replace("INFERENCE\n",
    "INFERENCE\ntrace {trace}\n", 1)


def serve(folder, text):
    hosts = "".join(f"{host} 16 400Gbps 1us 0\n" for host in range(16))
    (folder / "cluster").write_text("17 1 0 1 16 H100\n16\n" + hosts)
    (folder / "serving").write_text(text)
    return run(folder, "-q", "-w", "serving", "-n", "cluster", "--network", "flow", "-o", "out")


@pytest.mark.parametrize("value", ["-1", "nan", "1e300", "9" * 30, "x" * 5000], ids=lambda value: value[:12])
def test_numbers_of_serving_are_in_range(folder, value):
    for key in ("requests", "rate", "prompt_tokens", "output_tokens", "layers", "kv_bytes", "max_num_batched_tokens",
                "ttft_limit_ms", "block_size", "swap_gbps", "router"):
        line = refusal(serve(folder, without(key).replace("INFERENCE\n", f"INFERENCE\n{key} {value}\n", 1)))
        assert line.startswith("serving:") and len(line) < 400, line


@pytest.mark.parametrize("trace", [
    "", "arrival_s,prompt_tokens,output_tokens\n", *(f"arrival_s,prompt_tokens,output_tokens\n{row}\n" for row in (
        "1e300,5,5", "nan,5,5", "-1,5,5", "0,-5,5", "0,5", "0,0,0", "0,99999999999999999999,5")),
    *(f'{{"timestamp": 0, "input_length": 5, {rest}\n' for rest in (
        '"output_length": 5, "hash_ids": [-1]}', '"output_length": "x"}', "")),
    '{"timestamp": 1e400, "input_length": 5, "output_length": 5, "hash_ids": []}\n', "[" * 50000 + "\n"])
def test_damaged_traces_are_refused(folder, trace):
    (folder / "trace").write_text(trace)
    assert refusal(serve(folder, OF_A_TRACE.format(trace="trace"))).startswith("trace")


def test_traces_that_are_no_files_are_refused(folder):
    for path, reason in odd_paths(folder).items():
        assert reason in refusal(serve(folder, OF_A_TRACE.format(trace=path)))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_gpu_table_is_read_also_where_no_type_needs_it(folder, network):
    (folder / "gpus.yaml").write_text("nonsense\n")
    assert refusal(simulate(folder, "--gpu-table", "gpus.yaml", "--network", network)).startswith("gpus.yaml:1: ")


@pytest.mark.parametrize("text", ["", "nonsense\n", "x" * 100000])
def test_a_table_of_bandwidths_without_any_is_refused(folder, text):
    (folder / "busbw").write_text(text)
    line = refusal(run(folder, "-w", "workload.txt", "-g", "4", "-r_f", "out", "-busbw", "busbw", program=ANALYTICAL))
    assert line == "busbw:1: names no group; expected a line 'TP:', and 'allreduce: GB/s' below it"


@pytest.mark.parametrize("value", ["", "X", "ACCL X", "ACCL DP X", "NCCL DP", "accl", "ACCL \x01", "x" * 5000],
                         ids=lambda value: ascii(value[:12]))
def test_engines_are_named_as_they_are(folder, value):
    line = refusal(simulate(folder, "--set", f"COLLECTIVE_ENGINE={value}"))
    assert line.startswith("--set COLLECTIVE_ENGINE=") and len(line) < 400, line


@pytest.mark.parametrize("text", ['{"all-reduce-implementation": []}', '{"all-reduce-implementation": ["acclx"]}',
                                  '{"all-reduce-implementation": [1]}', '{"all-to-all-implementation": ["accl"]'])
def test_system_files_name_engines_as_they_are(folder, text):
    (folder / "system").write_text(text)
    assert refusal(simulate(folder, "--system-configuration=system")).startswith("system:1: ")


@pytest.mark.skipif(not (PROGRAMS / "SimAI_phynet").exists(),
                    reason="built without libfabric or MPI: there is no SimAI_phynet")
def test_real_traffic_refuses_what_simulations_refuse(folder):
    program = PROGRAMS / "SimAI_phynet"
    for path, reason in odd_paths(folder).items():
        for flag in ("-w", "-n"):
            arguments = {"-w": "workload.txt", "-n": "topology"} | {flag: path}
            assert says(reason, flag, refusal(run(folder, "-o", "out",
                                                  *(word for pair in arguments.items() for word in pair),
                                                  program=program)))
    for flags in (["--iterations", "0"], ["--warmup", "-1"], ["--timeout", "nan"], ["--tp", "9" * 30]):
        refusal(run(folder, "-w", "workload.txt", "-n", "topology", "-o", "out", *flags, program=program))


def test_python_reads_nothing_but_files(folder, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python")
    from clustersim import input_file

    monkeypatch.chdir(folder)
    for path in odd_paths(folder):
        with pytest.raises(OSError) as caught:
            input_file.read_text(path)
        assert caught.value.filename == path
    with open("large", "wb") as file:
        file.truncate(input_file.LARGEST + 1)  # takes no room
    with pytest.raises(OSError, match="is larger than 256 MiB"):
        input_file.read_text("large")
    assert input_file.read_text("topology") == TOPOLOGY


def test_lines_without_end_are_refused(folder):
    (folder / "endless").write_text("x" * (64 << 20))
    for flag in ("-w", "-n", "-c", "--background-flows"):
        arguments = {"-w": "workload.txt", "-n": "topology", "-c": "conf"} | {flag: "endless"}
        line = refusal(run(folder, "-q", "-o", "out", *(word for pair in arguments.items() for word in pair)))
        assert line.startswith("endless:1: this line is longer than 4 MiB"), line


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n"
                                    for i in range(1, 40)) + "topologies: *a39\n"


@pytest.mark.parametrize("words", [["sweep.py"], ["topologies/gen_Topo_Template.py", "-gt", "H100", "--astra_network"],
                                   ["topologies/gen_Topo_Template.py", "--describe", "topology", "--prices"]],
                         ids=lambda words: words[-1])
def test_yaml_that_is_large_deep_or_stands_for_too_much_is_refused(folder, words):
    (folder / "large").write_text("x" * (64 << 20))
    assert "large: is larger than 1 MiB; expected " in command_refusal(folder, *words, "large")
    (folder / "deep").write_text("topologies: " + "[" * 20000 + "]" * 20000)
    assert "deep:1: is nested too deeply; expected " in command_refusal(folder, *words, "deep")
    (folder / "bomb").write_text(BOMB)  # 40 lines, 2^40 words
    assert "bomb:" in command_refusal(folder, *words, "bomb")
    (folder / "itself").write_text("topologies: &a [*a]\n")
    assert "itself:" in command_refusal(folder, *words, "itself")


def test_deep_json_is_refused(folder):
    (folder / "deep").write_text('{"L": ' + "[" * 100000 + "]" * 100000 + "}")
    for flag in ("--system-configuration", "--logical-topology-configuration", "--remote-memory-configuration"):
        assert "deep:1: is nested too deeply" in refusal(simulate(folder, f"{flag}=deep"))


@pytest.mark.parametrize("flags, environment", [
    (["--num-queues-per-dim", "2147483648"], {}), (["--num-queues-per-dim", "0"], {}),
    ([], {"AS_NET_BW": "1.9e10"}), ([], {"AS_NET_BW": "1e-300"}), ([], {"AS_NET_BW": "inf"})])
def test_numbers_out_of_range_are_refused(folder, flags, environment):
    refusal(simulate(folder, *flags, environment=environment))


def test_long_and_unprintable_words_are_cut_and_escaped(folder):
    (folder / "workload.txt").write_bytes(b"\xff\x01" + b"A" * 10000 + b"\n")
    line = refusal(simulate(folder))
    assert r"\xff\x01AAA" in line and "..." in line and len(line) < 400


def test_names_keep_the_tables_whole(folder):
    (folder / "workload.txt").write_text(layer('=a"b,c'))
    assert simulate(folder, "--timeline-ranks", 1).returncode == 0
    with (folder / "out/EndToEnd.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[3][0] == "'=a\"b,c" and len(rows[3]) == len(rows[2])
    with (folder / "out/collectives.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["layer"] == "'=a\"b,c"
    (folder / "workload.txt").write_bytes(layer("name").encode().replace(b"name", b"\xffname"))
    assert simulate(folder, "--timeline-ranks", 1).returncode == 0
    assert json.loads((folder / "out/timeline.json").read_text())


# --- times of flows

def fct_rows(folder):
    return [list(map(int, line.split()[4:])) for line in (folder / "out/fct.txt").read_text().splitlines()]


UNEQUAL = ("8 6 10\n2 3 4 5 6 7\n0 2 400Gbps 1us 0\n3 1 400Gbps 1us 0\n2 4 400Gbps 1us 0\n4 3 400Gbps 1us 0\n"
           "2 5 10Gbps 50us 0\n5 3 10Gbps 50us 0\n2 6 100Gbps 1us 0\n6 3 400Gbps 9us 0\n2 7 25Gbps 1us 0\n"
           "7 3 50Gbps 1us 0\n")


@pytest.mark.parametrize("bytes", [1, 64, 999, 1000, 1001, 100_000, 1_000_000])
def test_a_lone_flow_has_no_slowdown(folder, bytes):
    (folder / "conf").write_text("CC_MODE 0\nHAS_WIN 0\nL2_ACK_INTERVAL 1\n")
    (folder / "flows").write_text(f"1\n0 1 3 100 {bytes} 0\n")
    arguments = ["-q", "-c", "conf", "-f", "flows", "-o", "out"]
    assert run(folder, *arguments, "-n", "topology", program=PROGRAMS / "qbb-flows").returncode == 0
    [[_, _, fct, ideal]] = fct_rows(folder)
    assert abs(fct - ideal) <= 1
    (folder / "unequal").write_text(UNEQUAL)
    (folder / "flows").write_text("20\n" + "".join(f"0 1 3 {100 + i} {bytes} {i * 0.01}\n" for i in range(20)))
    for routing in ("ecmp", "spray"):
        assert run(folder, *arguments, "-n", "unequal", "--set", f"ROUTING={routing}",
                   program=PROGRAMS / "qbb-flows").returncode == 0
        slowdowns = [fct / ideal for _, _, fct, ideal in fct_rows(folder)]
        assert min(slowdowns) > 0.999
