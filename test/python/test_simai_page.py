# SPDX-License-Identifier: GPL-2.0-only
"""The worked examples of SimAI's page on communication, as they stand, pasted into one shell.

The folder holds bin/, SimAI.conf, the generator and the scripts, as SimAI's users have them. The clusters
here are small; the page's have 1,024 GPUs.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
GPUS = 32


@pytest.fixture
def folder(tmp_path):
    for name in ("topologies", "scripts", "python", "workloads"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "bin").symlink_to(PROGRAMS)
    shutil.copy(ROOT / "conf/SimAI.conf", tmp_path / "SimAI.conf")
    (tmp_path / "gen_Topo_Template.py").symlink_to(ROOT / "topologies/gen_Topo_Template.py")
    (tmp_path / "analyze_results.py").symlink_to(ROOT / "scripts/analyze_results.py")
    return tmp_path


def shell(folder, commands):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
    environment["PATH"] = f"/usr/bin:{environment['PATH']}"  # Debian's Python, which has the modules
    return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=HANGS)


def test_three_networks_in_a_loop_and_their_comparison(folder):
    result = shell(folder, f"""
printf '1 ALLREDUCE 1048576 TP\\n1 ALLREDUCE 1048576 DP\\n1 ALLTOALL 1048576 EP\\n' > micro.txt
for topo in Spectrum-X AlibabaHPN-SinglePlane AlibabaHPN-DualPlane; do
  python3 gen_Topo_Template.py -topo $topo -g {GPUS} -gt H100 -bw 400Gbps -psn 8
done
for topo in Spectrum-X AlibabaHPN-SinglePlane AlibabaHPN-DualPlane; do
  AS_SEND_LAT=3 AS_NVLS_ENABLE=1 AS_SIM_THREADS=1 AS_LOG_LEVEL=INFO ./bin/SimAI_simulator -t 1 \\
    -w ./micro.txt -n ./${{topo}}_{GPUS}g_8gps_400Gbps_H100 --config SimAI.conf -o ./results/${{topo}}/
done
python3 analyze_results.py --dirs ./results/
""")
    assert result.returncode == 0, result.stderr
    for topo in ("Spectrum-X", "AlibabaHPN-SinglePlane", "AlibabaHPN-DualPlane"):
        assert (folder / "results" / topo / "EndToEnd.csv").is_file()
        assert f"results in ./results/{topo}/" in result.stdout
        assert any(line.startswith(topo) for line in result.stdout.splitlines()), "each run is in the tables"
    # Micro lines take servers as TP and the rest as DP and EP, and say so.
    assert f"TP groups are the 8 GPUs of a server, DP and EP groups the {GPUS // 8} GPUs" in result.stdout


def test_the_clusters_of_the_page_have_1024_gpus_under_its_names(folder):
    result = shell(folder, """
for topo in Spectrum-X AlibabaHPN-SinglePlane AlibabaHPN-DualPlane; do
  python3 gen_Topo_Template.py -topo $topo -g 1024 -gt H100 -bw 400Gbps
  python3 gen_Topo_Template.py --check ./${topo}_1024g_8gps_400Gbps_H100
done
printf '1 ALLREDUCE 1024 TP\\n' > micro.txt
for topo in Spectrum-X AlibabaHPN-SinglePlane AlibabaHPN-DualPlane; do
  ./bin/SimAI_simulator -w micro.txt -n ./${topo}_1024g_8gps_400Gbps_H100 -c SimAI.conf -o ./results/${topo}/ -q
done
""")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("1024 GPUs") == 3


@pytest.mark.parametrize("flags", [
    "-network flow", "--network=flow", "-network=flow -q", "-topology sx --conf SimAI.conf",
    "--network_topo sx -config SimAI.conf"])
def test_flags_have_one_dash_or_two_and_the_names_of_all_programs(folder, flags):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    topology = "" if "topo" in flags else "-n sx"
    result = shell(folder, f"bin/SimAI_simulator -w micro.txt {topology} {flags} -o out")
    assert result.returncode == 0, result.stderr
    assert ("results in" in result.stdout) == ("-q" not in flags)


@pytest.mark.parametrize("program", ["SimAI_simulator", "SimAI_analytical", "SimCCL", "qbb-flows"])
def test_every_program_prints_its_version_and_its_help(folder, program):
    for flag in ("--version", "-version", "--help", "-h"):
        result = shell(folder, f"bin/{program} {flag}")
        assert result.returncode == 0 and program in result.stdout, result.stderr


def test_every_program_reads_the_topology_by_the_same_names(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    (folder / "flows.txt").write_text("1\n0 9 3 100 1000 0\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    for flag in ("-n", "--network-topo", "--topology", "-topology"):
        for command in ("SimAI_simulator -w micro.txt", "SimAI_analytical -w micro.txt", "SimCCL -w micro.txt",
                        "qbb-flows -f flows.txt --conf SimAI.conf"):
            result = shell(folder, f"bin/{command} {flag} sx -q -o out")
            assert result.returncode == 0, f"{command} {flag}: {result.stderr}"


@pytest.mark.parametrize("program", ["SimAI_analytical -w micro.txt", "SimCCL", "qbb-flows -c SimAI.conf",
                                     "all_reduce_perf"])
@pytest.mark.parametrize("flag", ["-timeline_ranks 4", "--passes-of 3", "-gpu_typ H100"])
def test_a_flag_that_a_program_lacks_is_named(folder, program, flag):
    refused = shell(folder, f"bin/{program} {flag}")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    name = flag.split()[0].lstrip("-")
    assert name in refused.stderr or "-gpu_typ" in flag, refused.stderr
    assert "cannot be read" not in refused.stderr


def test_a_network_where_there_is_none_is_an_unknown_flag(folder):
    for program in ("SimAI_analytical -w micro.txt", "SimCCL", "qbb-flows"):
        for flag in ("-network flow", "--network flow", "-network=flow"):
            refused = shell(folder, f"bin/{program} {flag}")
            assert (
                refused.returncode == 2 and f"unknown flag '{flag.split('=')[0].split()[0]}" in refused.stderr
            ), refused.stderr


@pytest.mark.parametrize("command, said", [
    ("SimAI_simulator -outptu=x -q", "unknown flag '-outptu=x'; expected a flag of --help; the nearest is --output"),
    ("SimAI_simulator -n sx -netwrok flow", "unknown flag '-netwrok'; expected a flag of --help; the nearest is "
     "--network"),
    ("SimAI_simulator -n sx -networkconf x", "unknown flag '-networkconf'; expected a flag of --help; the nearest is "
     "--network-conf"),
    ("SimAI_simulator -threads 1", "unknown flag '-threads'; expected a flag of --help; the nearest is --thread"),
    ("SimAI_simulator -confg F", "unknown flag '-confg'; expected a flag of --help; the nearest is --conf"),
    ("SimAI_simulator -V", "unknown flag '-V'; expected a flag of --help\n"),
    ("SimAI_simulator micro.txt", "argument 'micro.txt' belongs to no flag"),
    ("SimAI_analytical -w micro.txt -netwrok x", "unknown flag '-netwrok'"),
    ("SimCCL -netwrok x", "unknown flag '-netwrok'"),
    ("qbb-flows -netwrok x", "unknown flag '-netwrok'"),
    ("all_reduce_perf -netwrok x", "unknown flag '-netwrok'")])
def test_a_mistyped_word_with_one_dash_is_no_short_flag(folder, command, said):
    before = sorted(folder.iterdir())
    refused = shell(folder, f"bin/{command}")
    assert refused.returncode == 2 and refused.stderr.startswith(f"command line: {said}"), refused.stderr
    assert sorted(folder.iterdir()) == before


def test_values_follow_a_letter_at_once_where_they_begin_with_none(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    shell(folder, "python3 gen_Topo_Template.py --topo Spectrum-X -g 16 -psn 1 -o sx")
    for topology in ("-n./sx", "-topo sx", "--topo sx"):
        result = shell(folder, f"bin/SimAI_simulator -t16 -w./micro.txt {topology} --network flow -q -o out")
        assert result.returncode == 0, result.stderr


def test_variables_that_nothing_reads_are_warned_of(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    for command in ("SimAI_simulator -w micro.txt -n sx -o out", "SimAI_analytical -w micro.txt -n sx -r_f out",
                    "SimCCL -o out"):
        result = shell(folder, f"AS_SEND_LTA=3 AS_PXN_ENABLE=0 AS_ELSE=1 bin/{command} -q")
        assert result.returncode == 0 and sorted(result.stderr.splitlines()) == [
            "warning: environment: AS_ELSE has no effect, as no variable has that name",
            "warning: environment: AS_SEND_LTA has no effect, as no variable has that name; the nearest is AS_SEND_LAT",
        ], command


def test_results_are_named_at_the_end(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    (folder / "flows.txt").write_text("1\n0 9 3 100 1000 0\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    for command, last in (("qbb-flows -f flows.txt -n sx -c SimAI.conf -o out", "results in out"),
                          ("SimAI_simulator -w micro.txt -n sx -o out", "results in out"),
                          ("SimCCL --size 1M -o out", "written: out/ncclFlowModel_detailed_flows.csv"),
                          ("SimCCL --nRanks 2 --size 1K",
                           "written: ncclFlowModel_detailed_flows.csv and ncclFlowModel_flows.dot")):
        assert shell(folder, f"bin/{command}").stdout.splitlines()[-1] == last


def test_help_fits_a_terminal(folder):
    for program in ("SimAI_simulator", "SimAI_analytical", "SimCCL", "qbb-flows", "all_reduce_perf"):
        lines = shell(folder, f"bin/{program} --help").stdout.splitlines()
        assert max(map(len, lines)) <= 80, (program, max(lines, key=len))
    assert "CC_MODE" in shell(folder, "bin/all_reduce_perf --help-conf").stdout


def test_a_latency_in_nanoseconds_warns(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 TP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    warned = shell(folder, "AS_SEND_LAT=7200 bin/SimAI_simulator -w micro.txt -n sx -o out")
    assert warned.returncode == 0 and "which would be AS_SEND_LAT=7.2" in warned.stderr
    assert "AS_SEND_LAT" not in shell(folder, "AS_SEND_LAT=1000 bin/SimAI_simulator -w micro.txt -n sx -o out").stderr
    silent = shell(folder, "AS_LOG_LEVEL=ERROR AS_SEND_LAT=7200 bin/SimAI_simulator -w micro.txt -n sx -o out")
    assert silent.stdout == silent.stderr == ""
    told = shell(folder, "AS_LOG_LEVEL=DEBUG bin/SimAI_simulator -w micro.txt -n sx -o out").stderr
    assert told.count("starts: AllReduce of 1024 bytes") == told.count("ends: AllReduce of 1024 bytes") == 2
    refused = shell(folder, "AS_SIM_THREADS=0 bin/SimAI_simulator -w micro.txt -n sx -o out")
    assert refused.returncode == 2 and "AS_SIM_THREADS is '0'; expected" in refused.stderr


def test_names_of_simai_s_files_on_request(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 16777216 DP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    result = shell(folder, "bin/SimAI_simulator -w micro.txt -n sx -o out --simai-files -q --network flow")
    assert result.returncode == 0, result.stderr
    assert (folder / "out/ncclFlowModel_EndToEnd.csv").read_bytes() == (folder / "out/EndToEnd.csv").read_bytes()
    lines = (folder / "out/ncclFlowModel__dimension_utilization_0.csv").read_text().splitlines()
    assert lines[0] == "time (us),dim1 util"
    times, shares = zip(*(map(float, line.split(",")) for line in lines[1:]))
    assert list(times) == [10 * (i + 1) for i in range(len(times))]
    total = float((folder / "out/EndToEnd.csv").read_text().splitlines()[1].rsplit(",", 1)[1])
    # The AllReduce runs all the time: whole windows, and the rest of the last.
    assert set(shares[:-1]) == {100.0}
    assert shares[-1] == pytest.approx((total % 10) * 10, abs=0.01)


def test_outputs_of_absolute_names_go_to_the_output_directory(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 1024 DP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    (folder / "shared").mkdir()
    conf = (folder / "SimAI.conf").read_text()
    absolute = "\n".join(f"{line.split()[0]} {folder}/shared/{line.split()[1]}"
                         if line.startswith("FCT_OUTPUT_FILE") else line for line in conf.splitlines())
    (folder / "absolute.conf").write_text(absolute + "\n")
    assert "shared" in absolute
    for out in ("one", "two"):
        result = shell(folder, f"bin/SimAI_simulator -w micro.txt -n sx -c absolute.conf -o {out}")
        assert result.returncode == 0 and "written to " in result.stderr
        assert list((folder / out).glob("*fct*"))
    assert not list((folder / "shared").iterdir())
    analysed = shell(folder, "scripts/analyze_results.py --dirs one two --tables runs")
    assert "missing" not in analysed.stderr


def test_inputs_that_simais_conf_names_and_nobody_has_are_as_if_it_named_none(folder):
    """Its FLOW_FILE and TRACE_FILE are of another machine, and ENABLE_TRACE is 1."""
    theirs = "/etc/astra-sim/simulation"
    ours = re.sub(r"^(\w+_FILE|ENABLE_TRACE) .*\n", "", (ROOT / "conf/SimAI.conf").read_text(), flags=re.MULTILINE)
    (folder / "SimAI.conf").write_text(ours + "ENABLE_TRACE 1\n"
                                       + "".join(f"{key}_FILE {theirs}/{name}\n" for key, name in (
        ("FLOW", "flow1.txt"), ("TRACE", "trace1.txt"), ("TRACE_OUTPUT", "mix.tr"), ("FCT_OUTPUT", "fct.txt"),
        ("PFC_OUTPUT", "pfc.txt"), ("QLEN_MON", "qlen.txt"), ("BW_MON", "bw.txt"), ("RATE_MON", "rate.txt"),
        ("CNP_MON", "cnp.txt"))))
    (folder / "micro.txt").write_text("1 ALLREDUCE 65536 TP\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    command = "bin/SimAI_simulator -w micro.txt -n sx -c SimAI.conf"
    plain = shell(folder, f"{command} -o plain")
    assert plain.stderr.count("warning") == 1 and plain.stderr.count("_FILE /etc/astra-sim") == 6
    for flags in ("-t 2", "--fast-forward exact", "--network flow", "--network analytical"):
        result = shell(folder, f"{command} {flags} -o '{flags}'")
        assert result.returncode == 0 and "_FILE has" not in result.stderr, result.stderr
        assert "TRACE_FILE" not in result.stdout + result.stderr
    processes = shell(folder, f"""
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -np 2 {command} -o processes""")
    assert processes.returncode == 0, processes.stderr
    times = [(folder / out / "EndToEnd.csv").read_text()
             for out in ("plain", "-t 2", "--fast-forward exact", "processes")]
    assert len(set(times)) == 1


def test_flows_and_traces_that_are_there_are_refused_by_their_keys(folder):
    (folder / "micro.txt").write_text("1 ALLREDUCE 65536 TP\n")
    (folder / "flows.txt").write_text("1\n0 8 3 100 1000 0\n")
    (folder / "nodes.txt").write_text("1\n0\n")
    shell(folder, "python3 gen_Topo_Template.py -topo Spectrum-X -g 16 -psn 1 -o sx")
    command = "bin/SimAI_simulator -w micro.txt -n sx -c SimAI.conf"
    for flags, words in (("--fast-forward --set 'FLOW_FILE flows.txt'", "FLOW_FILE flows.txt has flows"),
                         ("--fast-forward --background-flows flows.txt", "--background-flows flows.txt has flows"),
                         ("--fast-forward --set 'ENABLE_TRACE 1' --set 'TRACE_FILE nodes.txt'", "without TRACE_FILE"),
                         ("--network analytical --set 'FLOW_FILE flows.txt'", "FLOW_FILE flows.txt has flows")):
        result = shell(folder, f"{command} {flags}")
        assert result.returncode == 2 and words in result.stderr, result.stderr
    threads = shell(folder, f"{command} -t 2 --set 'ENABLE_TRACE 1' --set 'TRACE_FILE nodes.txt'")
    assert "runs on one thread, as TRACE_FILE needs" in threads.stdout


# The names are AICB's: of model, TP and DP; what they leave out is 1.
@pytest.mark.parametrize("flags, name", [
    ("--model_name llama_70b --tp 8 --dp 16 --pp 1 --world_size 128", "llama_70b_tp8_dp16"),
    ("--model_name llama_70b --tp 8 --pp 2 --world_size 128", "llama_70b_tp8_dp8_pp2"),
    ("--model_size 13 --tp 2 --world_size 16", "gpt_13b_tp2_dp8"),
    ("--model_name gpt_13b --tp 2 --world_size 16 --name mine", "mine")])
def test_aicb_writes_the_workloads_of_the_page(folder, flags, name):
    result = shell(folder, f"cd {ROOT} && python3 -m aicb.main {flags} --output_dir {folder}/new/")
    assert result.returncode == 0, result.stderr
    header = (folder / "new" / f"{name}.txt").read_text().splitlines()[0]
    # The same rows as scripts/workload.py writes.
    shell(folder, f"scripts/workload.py {flags.split(' --name')[0]} -o other --name w")
    assert (folder / "other/w.txt").read_text() == (folder / "new" / f"{name}.txt").read_text()
    assert f"model_parallel_NPU_group: {flags.split('--tp ')[1].split()[0]} " in header
    refused = shell(folder, f"cd {ROOT} && python3 -m aicb.main --model_name llama_71b --world_size 8")
    assert refused.returncode == 2 and "llama_71b" in refused.stderr and "Traceback" not in refused.stderr
