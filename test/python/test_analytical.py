# SPDX-License-Identifier: GPL-2.0-only
"""SimAI_analytical from the outside: hand-worked iterations, every flag, mistakes, speed."""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from others_files import OTHERS_FILES
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_analytical"
SIMULATOR = PROGRAM.parent / "SimAI_simulator"

BUSBW = "test\nTP:\nallreduce,: 300\nallgather,: 280\nDP:\nallreduce,: null\nallgather,: 380\nPP:\nbusbw: 50\n"


def workload(path, gpus, rows, tp=1, ep=1, pp=1, ga=1, pp_comm=0):
    """rows: (name, fwd ns, op, bytes, ig ns, op, bytes, wg ns, op, bytes, update ns)."""
    lines = ["\t".join([str(r[0]), "-1", *map(str, r[1:])]) for r in rows]
    path.write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 "
                    f"ga: {ga} all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0 pp_comm: {pp_comm}\n"
                    f"{len(rows)}\n" + "\n".join(lines) + "\n")
    return path


def run(tmp_path, *arguments, env=None, cwd=None, program=PROGRAM):
    return subprocess.run(
        [str(program), *map(str, arguments)], cwd=cwd or tmp_path, capture_output=True, text=True, timeout=HANGS,
        env={**{k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}, **(env or {})},
        check=False)


def summary(path):
    """The summary of an EndToEnd.csv: microseconds by name, and shares in per cent."""
    names, values = (next(csv.reader([line])) for line in path.read_text().splitlines()[:2])
    times, shares = {}, {}
    for name, value in zip(names[1:], values[1:]):
        match = re.fullmatch(r"([\d.]+)(?: \(([\d.]+)%\))?", value)
        times[name.strip()] = float(match[1])
        shares[name.strip()] = float(match[2]) if match[2] else None
    return times, shares


def iteration(tmp_path):
    (tmp_path / "busbw.yaml").write_text(BUSBW)
    return workload(tmp_path / "w.txt", 16, tp=8, rows=[
        ("a", 10000, "ALLREDUCE", 30000000, 20000, "ALLGATHER", 28000000, 5000, "ALLGATHER", 76000000, 0),
        ("b", 40000, "NONE", 0, 50000, "ALLREDUCE", 15000000, 6000, "NONE", 0, 0)])


def test_an_iteration_worked_by_hand(tmp_path):
    result = run(tmp_path, "-w", iteration(tmp_path), "-g", 16, "-g_p_s", 8, "-busbw", "busbw.yaml",
                 "-r_f", "out")
    assert result.returncode == 0, result.stderr
    times, shares = summary(tmp_path / "out" / "EndToEnd.csv")
    # TP, 8 ranks: AllReduce 2 x 7/8 x 30 MB at 300 GB/s and half of that, AllGather 7/8 x 28 MB at 280.
    tp = 175 + 87.5 + 87.5
    dp = 0.5 * 76e6 / 380e9 * 1e6  # 2 ranks
    compute = 10 + 20 + 5 + 40 + 50 + 6
    assert times["Expose TP comm"] == pytest.approx(tp, abs=1e-6)
    assert times["Expose DP comm"] == pytest.approx(dp, abs=1e-6)
    assert times["total comp"] == pytest.approx(compute, abs=1e-6)
    assert times["bubble time"] == 0
    assert times["Total time"] == pytest.approx(compute + tp + dp, abs=1e-6)
    assert sum(shares[n] for n in shares if n.startswith("Expose") or n in ("bubble time", "total comp")) == \
        pytest.approx(100, abs=0.05)
    rows = list(csv.reader((tmp_path / "out" / "EndToEnd.csv").open()))[3:]
    a = next(row for row in rows if row[0] == "a")
    assert [float(x) for x in a[2:5]] == [10, 5, 20]        # compute: fwd, wg, ig
    assert [float(x) for x in a[5:8]] == pytest.approx([175, dp, 87.5])
    assert float(a[10]) == pytest.approx(300)               # the bus bandwidth that was given
    for text in ("compute", "exposed TP communication", "bubble (waiting for other ranks)", "total"):
        assert text in result.stdout


def test_overlap_hides_communication_and_records_keep_it(tmp_path):
    result = run(tmp_path, "-w", iteration(tmp_path), "-busbw", "busbw.yaml", "-r_f", "out",
                 "-tp_o", "0.5", "--dp-overlap-ratio", "1")
    assert result.returncode == 0, result.stderr
    times, _ = summary(tmp_path / "out" / "EndToEnd.csv")
    assert times["Expose TP comm"] == pytest.approx((175 + 87.5 + 87.5) / 2, abs=1e-6)
    assert times["Expose DP comm"] == 0
    assert times["Total time"] == pytest.approx(131 + 175, abs=1e-6)
    rows = {(r["layer"], r["phase"]): r for r in csv.DictReader((tmp_path / "out" / "collectives.csv").open())}
    assert float(rows["a", "wg"]["end_ns"]) - float(rows["a", "wg"]["start_ns"]) == pytest.approx(100000)
    assert float(rows["a", "fwd"]["busbw"]) == pytest.approx(300)


def test_a_pipeline_has_its_bubble(tmp_path):
    stages, batches = 4, 8
    w = workload(tmp_path / "w.txt", 16, pp=stages, ga=batches, pp_comm=1000000,
                 rows=[("l", 10000, "NONE", 0, 15000, "NONE", 0, 5000, "NONE", 0, 0)])
    result = run(tmp_path, "-w", w, "-g_p_s", 4, "-r_f", "out")
    assert result.returncode == 0, result.stderr
    times, _ = summary(tmp_path / "out" / "EndToEnd.csv")
    assert times["Total time"] == pytest.approx((batches + stages - 1) * 30, abs=1e-6)
    assert times["bubble time"] == pytest.approx((stages - 1) * 30, abs=1e-6)
    assert times["Expose_PP_comm"] == 0
    # Messages that are not overlapped: there and back over 50 GB/s for each further stage at least.
    result = run(tmp_path, "-w", w, "-g_p_s", 4, "-r_f", "out", "-pp_o", 0, "-nic", 50)
    times, _ = summary(tmp_path / "out" / "EndToEnd.csv")
    assert times["Expose_PP_comm"] > 0
    assert times["Total time"] >= (batches + stages - 1) * 30 + 2 * (stages - 1) * 20


@pytest.mark.parametrize("flags, ranks, computed", [(["-g", 16], 8, 1), (["-g", 16, "--tp", 8], 8, 1),
                                                   (["-g", 24, "--tp", 12], 12, 24)])
def test_micro_lines_take_their_groups_from_the_flags(tmp_path, flags, ranks, computed):
    (tmp_path / "busbw.yaml").write_text("TP:\nallreduce: 100\n")
    (tmp_path / "micro.txt").write_text("2 ALLREDUCE 1000000 TP\n")
    result = run(tmp_path, "-w", "micro.txt", "-busbw", "busbw.yaml", "-r_f", "out", *flags)
    assert result.returncode == 0, result.stderr
    times, _ = summary(tmp_path / "out" / "EndToEnd.csv")
    assert times["Total time"] == pytest.approx(2 * 2 * (ranks - 1) / ranks * 10, abs=1e-5)
    # Groups of 12 lie differently on servers of 8, so that no rank stands for another.
    assert json.loads((tmp_path / "out" / "run.json").read_text())["options"]["ranks_simulated"] == computed


@pytest.mark.parametrize("operation", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL", "SENDRECV", "BROADCAST",
                                       "REDUCE",
                                       "GATHER", "SCATTER"])
def test_a_micro_line_takes_time_on_every_kind_of_group(tmp_path, operation):
    """Equal groups, here pairs of servers, take equal times whatever they are called."""
    def time(group, *flags):
        (tmp_path / "micro.txt").write_text(f"1 {operation} 1000000 {group}\n")
        result = run(tmp_path, "-w", "micro.txt", "-g", 16, "-g_p_s", 1, "-r_f", "out", *flags)
        assert result.returncode == 0, result.stderr
        return summary(tmp_path / "out" / "EndToEnd.csv")[0]["Total time"]

    of_pair = time("TP", "--tp", 2)
    assert of_pair > 10
    for flags in (["PP", "--pp", 2], ["EP", "--ep", 2], ["DP", "--tp", 8], ["DP_EP", "--ep", 8]):
        assert time(*flags) == pytest.approx(of_pair), flags
    assert time("PP", "--pp", 2, "-pp_o", 0.75) == pytest.approx(of_pair / 4)


@pytest.mark.parametrize("group, flags", [("TP", ["--tp", 4]), ("DP", ["--tp", 2]), ("EP", ["--ep", 8]),
                                          ("PP", ["--pp", 4])])
def test_a_pair_of_more_than_two_ranks_is_refused_where_it_is_written(tmp_path, group, flags):
    (tmp_path / "micro.txt").write_text(f"1 ALLREDUCE 8 TP\n1 SENDRECV 100 {group}\n")
    flags += [] if "--tp" in flags else ["--tp", 2]
    result = run(tmp_path, "-w", "micro.txt", "-g", 16, "-r_f", "out", *flags)
    assert result.returncode == 2
    assert re.fullmatch(rf"micro.txt:2: SENDRECV on {group} groups, which have \d ranks; expected groups of two "
                        rf"ranks, .*\n", result.stderr)


def test_faster_links_shorten_what_they_carry(tmp_path):
    w = workload(tmp_path / "w.txt", 16, tp=8, rows=[
        ("a", 1000, "ALLREDUCE", 1 << 30, 1000, "NONE", 0, 1000, "ALLREDUCE", 1 << 30, 0)])

    def times(*flags, nvls=0):
        result = run(tmp_path, "-w", w, "-r_f", "out", *flags, env={"NCCL_NVLS_ENABLE": str(nvls)})
        assert result.returncode == 0, result.stderr
        return summary(tmp_path / "out" / "EndToEnd.csv")[0]
    base = times("-nv", 360, "-nic", 50)
    # NCCL's ring has the NVLinks' bandwidth: 2 x 7/8 x 1 GiB, and a few microseconds. Then it copies the last 1/8 out
    # of its buffers, twice as fast.
    assert base["Expose TP comm"] == pytest.approx((2 * 7 / 8 + 1 / 16) * 2**30 / 360e9 * 1e6, rel=0.02)
    assert times("-nv", 180, "-nic", 50)["Expose TP comm"] == pytest.approx(2 * base["Expose TP comm"], rel=0.02)
    half = times("-nv", 360, "-nic", 25)
    # NCCL has two channels for half the rate, not four: one sends alone while the other copies, and both copy at times.
    assert half["Expose DP comm"] == pytest.approx(2 * base["Expose DP comm"], rel=0.15)
    assert half["Expose TP comm"] == base["Expose TP comm"]
    shared = times("-nv", 360, "-nic", 50, "-n_p_s", 4)  # NCCL chooses for a fast NIC, which two share
    assert shared["Expose DP comm"] == pytest.approx(half["Expose DP comm"],
                                                     rel=0.1) and shared["Expose TP comm"] == base["Expose TP comm"]
    assert times("-nv", 360, "-nic_t", "cx6") == half
    assert times("-g_type", "A100", "-nic_t", "cx6")["Expose TP comm"] > base["Expose TP comm"]
    assert times("-g_type", "H100", nvls=2)["Expose TP comm"] < base["Expose TP comm"]


def test_results_are_where_the_flags_say(tmp_path):
    w = iteration(tmp_path)
    assert run(tmp_path, "-w", w).returncode == 0
    assert (tmp_path / "results" / "w_analytical" / "EndToEnd.csv").exists()
    assert run(tmp_path, "-w", w, "-r", "try-").returncode == 0
    assert (tmp_path / "results" / "try-EndToEnd.csv").exists()
    result = run(tmp_path, "-w", w, "-r", "x-", "-r_f", "deep/er", "-v", 1)
    assert result.returncode == 0 and "deep/er/x-EndToEnd.csv" in result.stdout
    folder = tmp_path / "deep" / "er"
    assert sorted(p.name for p in folder.iterdir()) == ["x-EndToEnd.csv", "x-breakdown.svg", "x-collectives.csv",
                                                        "x-run.json"]
    assert xml.etree.ElementTree.parse(folder / "x-breakdown.svg").getroot().tag.endswith("svg")
    record = json.loads((folder / "x-run.json").read_text())
    assert record["status"] == "finished" and record["inputs"][0]["role"] == "workload"
    assert record["outputs"] == ["x-EndToEnd.csv", "x-breakdown.svg", "x-collectives.csv"]
    result = run(tmp_path, "-w", w, "-q")
    assert result.returncode == 0 and result.stdout == ""


def test_without_the_plotting_tool_all_but_the_picture_is_written(tmp_path):
    """A program that was copied out of its checkout, and one whose checkout has a Python without matplotlib."""
    program = tmp_path / "bin" / "SimAI_analytical"
    program.parent.mkdir()
    shutil.copy(PROGRAM, program)
    arguments = ["-w", iteration(tmp_path), "-busbw", "busbw.yaml", "-r_f", "out", "-v", "-q"]
    result = run(tmp_path, *arguments, program=program)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr == (
        "out/breakdown.svg: is not drawn, all other results are written: there is no scripts/plot.py above this "
        "program; expected Python with matplotlib, by which \"scripts/plot.py breakdown out/EndToEnd.csv -o out\" "
        "draws it\n")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "finished"
    tool = tmp_path / "scripts" / "plot.py"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho no matplotlib >&2\nexit 2\n")
    tool.chmod(0o755)
    result = run(tmp_path, *arguments, program=program)
    assert result.returncode == 1
    assert result.stderr.startswith("no matplotlib\nout/breakdown.svg: is not drawn, all other results are written: "
                                    f"{tool} ended with status 2; expected Python with matplotlib")
    tool.write_text("#!/nonexistent\n")
    assert f"{tool}: No such file or directory" in run(tmp_path, *arguments, program=program).stderr


def test_the_machine_may_come_from_a_topology(tmp_path):
    lines = [f"{g} {16 + g // 8} 2400Gbps 0.000025ms 0\n{g} 18 200Gbps 0.0005ms 0" for g in range(16)]
    (tmp_path / "n.txt").write_text("19 8 2 1 32 A100\n16 17 18\n" + "\n".join(lines) + "\n")
    w = workload(tmp_path / "w.txt", 16, tp=8, rows=[
        ("a", 1000, "ALLREDUCE", 1 << 30, 1000, "NONE", 0, 1000, "ALLREDUCE", 1 << 30, 0)])
    for flags in (["-n", "n.txt"], ["-g_type", "A100", "-nic", 25]):
        assert run(tmp_path, "-w", w, "-r_f", "out" + flags[0], *flags).returncode == 0
    # 2400 Gb/s is more than the 240 GB/s that NCCL uses of an A100's NVLinks. The topology also has the delay of its
    # links.
    of_file, of_flags = (summary(tmp_path / out / "EndToEnd.csv")[0] for out in ("out-n", "out-g_type"))
    assert of_file == pytest.approx(of_flags, rel=0.01)


def test_a_group_with_a_slower_link_takes_longer(tmp_path):
    """Two groups of four GPUs in a server. With NVLinks of one rate, a rank stands for all; with a slow one, the group
    at it takes longer, and the other waits for it to reduce gradients."""
    w = workload(tmp_path / "w.txt", 8, tp=4, rows=[("a", 1000, "ALLREDUCE", 1 << 30, 1000, "NONE", 0, 1000,
                                                     "ALLREDUCE", 1 << 20, 0)])
    found = {}
    for slow in (1600, 400):
        rates = [1600] * 5 + [slow] + [1600] * 2
        (tmp_path / "n").write_text("10 8 1 1 16 H100\n8 9\n"
                                    + "".join(f"{g} 8 {rates[g]}Gbps 25ns 0\n{g} 9 400Gbps 500ns 0\n"
                                              for g in range(8)))
        assert run(tmp_path, "-w", w, "-n", "n", "-r_f", slow).returncode == 0
        rows = list(csv.DictReader((tmp_path / f"{slow}/collectives.csv").open(newline="")))
        computed = json.loads((tmp_path / f"{slow}/run.json").read_text())["options"]["ranks_simulated"]
        found[slow] = computed, [float(row["end_ns"]) - float(row["start_ns"]) for row in rows
                                 if row["group"].startswith("TP")]
        total = summary(tmp_path / f"{slow}/EndToEnd.csv")[0]["Total time"]
        assert total == pytest.approx(max(float(row["end_ns"]) for row in rows) / 1e3, rel=0.01)
    assert found[1600][0] == 1 and found[400][0] == 8
    (usual,) = found[1600][1]
    assert sorted(found[400][1]) == pytest.approx([usual, 4 * usual], rel=0.15)


@pytest.mark.parametrize("preset, flags", [("H100-1NIC", ["-n_p_s", 1, "-nic", 50]),
                                           ("A100-4NIC", ["-n_p_s", 4, "-nic", 12.5])])
@pytest.mark.parametrize("operation", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL"])
@pytest.mark.parametrize("group", ["DP", "EP"])
def test_a_nic_that_gpus_share_has_a_part_for_each(tmp_path, preset, flags, operation, group):
    """A group of one GPU of each server: those of the server's other GPUs are at work as well. Both ways to say so give
    one time, about that of flows."""
    made = run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "--preset", preset, "-g", "32",
                       "-o", "n"], cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "w.txt").write_text(f"1 {operation} 67108864 {group}\n")
    times = {}
    for name, more in (("topology", []), ("flags", flags)):
        assert run(tmp_path, "-w", "w.txt", "-n", "n", "-r_f", name, *more).returncode == 0
        times[name] = summary(tmp_path / name / "EndToEnd.csv")[0]["Total time"]
    assert times["flags"] == times["topology"]
    done = run(tmp_path, "-q", "-w", "w.txt", "-n", "n", "-c", ROOT / "conf/SimAI.conf", "--network", "flow", "-o",
               "flow", program=SIMULATOR)
    assert done.returncode == 0, done.stderr
    simulated = json.loads((tmp_path / "flow/run.json").read_text())["simulated_ns"] / 1e3
    assert times["topology"] == pytest.approx(simulated, rel=0.1)


MISTAKES = {
    "no workload": ([], "no workload"),
    "missing workload": (["-w", "none.txt"], "none.txt"),
    "wrong number of GPUs": (["-w", "w.txt", "-g", "8"], "made for 16 GPUs"),
    "not a number": (["-w", "w.txt", "-nv", "fast"], "fast"),
    "negative": (["-w", "w.txt", "-nic", "-1"], "-1"),
    "ratio above one": (["-w", "w.txt", "-dp_o", "1.1"], "--dp-overlap-ratio"),
    "unknown GPU": (["-w", "w.txt", "-g_type", "H101"], "H101"),
    "unknown NIC": (["-w", "w.txt", "-nic_t", "cx8"], "cx8"),
    "unknown flag": (["-w", "w.txt", "--gpu"], "--gpus"),
    "missing busbw": (["-w", "w.txt", "-busbw", "none.yaml"], "none.yaml"),
    "wrong busbw": (["-w", "w.txt", "-busbw", "bad.yaml"], "bad.yaml:2"),
    "missing topology": (["-w", "w.txt", "-n", "none"], "none"),
    "servers that GPUs do not fill": (["-w", "w.txt", "-g", 16, "-g_p_s", 7], "16 GPUs do not fill servers of 7"),
    "a rate beyond all links": (["-w", "w.txt", "-nv", "1e300"], "--nvlink is 1e300; expected GB/s, from"),
    "a type in small letters": (["-w", "w.txt", "-g_type", "h100"], "; the nearest is H100"),
    "no directory": (["-w", "w.txt", "-r_f", "w.txt/out"], "w.txt/out"),
    "unknown algorithm": (["-w", "w.txt"], "NCCL_ALGO"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_status_2(tmp_path, mistake):
    iteration(tmp_path)
    (tmp_path / "bad.yaml").write_text("TP:\nallreduse: 3\n")
    flags, named = MISTAKES[mistake]
    result = run(tmp_path, *flags, env={"NCCL_ALGO": "Star"} if mistake == "unknown algorithm" else None)
    assert result.returncode == 2
    assert named in result.stderr and result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_help_names_every_flag_of_simai():
    result = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True)
    for flag in ("-w", "-g", "-g_p_s", "-r,", "-r_f", "-nv", "-nic,", "-n_p_s", "-nic_t", "-g_type", "-busbw",
                 "-v,", "-dp_o", "-ep_o", "-tp_o", "-pp_o", "-n,"):
        assert flag in result.stdout


def test_ten_thousand_gpus_are_a_rank_of_each_stage(tmp_path):
    """The shape of a large mixture-of-experts model: 9,216 GPUs, 24 micro-batches of 73 rows."""
    batch = [(f"l{i % 73}", 100000 + i, "ALLGATHER", 50331648, 50000, "REDUCESCATTER", 50331648, 50000, "NONE", 0, 100)
             if i % 3 else (f"l{i % 73}", 1000, "ALLTOALL_EP", 100663296, 1000, "ALLTOALL_EP", 100663296, 1, "NONE", 0,
                            100) for i in range(73)]
    w = workload(tmp_path / "w.txt", 9216, tp=2, ep=16, pp=12, ga=24, pp_comm=50331648,
                 rows=[("grads", 1, "NONE", 0, 1, "NONE", 0, 1, "REDUCESCATTER", 5615517696, 100), *batch * 24])
    result = run(tmp_path, "-w", w, "-g", 9216, "-r_f", "out")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out" / "run.json").read_text())["options"]["ranks_simulated"] == 12


@pytest.mark.others_files
@pytest.mark.parametrize("flags", [["-nv", "360", "-nic", "48.5", "-n_p_s", "8", "-g_p_s", "8"],
                                   ["-busbw", OTHERS_FILES / "simai" / "busbw.yaml"]])
def test_simais_own_example_runs_with_its_rows(tmp_path, flags):
    result = run(tmp_path, "-w", OTHERS_FILES / "simai" / "workload_analytical.txt", "-g", 9216, "-r_f", "out", *flags)
    assert result.returncode == 0, result.stderr
    times, _ = summary(tmp_path / "out" / "EndToEnd.csv")
    parts = [times[n] for n in times if n.startswith("Expose") or n in ("bubble time", "total comp")]
    assert sum(parts) == pytest.approx(times["Total time"], rel=1e-6)
    rows = (tmp_path / "out" / "EndToEnd.csv").read_text().splitlines()
    assert len(rows) == 3 + 1789 + 2
