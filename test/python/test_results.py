# SPDX-License-Identifier: GPL-2.0-only
"""python/clustersim/results reads what runs leave, and says what is wrong with it."""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import run_directory  # noqa: E402
from clustersim.results import ResultsError, open_run, open_runs  # noqa: E402


@pytest.fixture
def directory(tmp_path):
    return run_directory.write(tmp_path / "run")


def lines(run):
    return [str(problem) for problem in run.read_all()]


def test_a_complete_run_has_no_problems(directory):
    assert lines(open_run(directory)) == []


def test_flows_have_hosts_and_slowdowns(directory):
    flows = open_run(directory).flows
    assert list(flows["src"]) == [0, 0, 1, 3]
    assert list(flows["dst"]) == [1, 2, 3, 1]
    assert list(flows["slowdown"]) == [2, 2, 3, 1]


def test_hosts_above_255_are_numbered_on(tmp_path):
    # Host i has 0x0b000001 + ((i / 256) << 16) + ((i % 256) << 8): 513 = 2 * 256 + 1.
    (tmp_path / "fct.txt").write_text("0b020101 0b00ff01 1 2 3 4 5 6\n")
    flows = open_run(tmp_path).flows
    assert (flows["src"][0], flows["dst"][0]) == (513, 255)


def test_pauses_join_pause_and_resume_and_last_to_the_end_of_the_run(directory):
    pauses = open_run(directory).pauses
    found = [tuple(row) for row in pauses[["node", "port", "start_ns", "end_ns", "ended"]].to_numpy()]
    assert found == [(0, 2, 1000, 4000, True), (0, 2, 9000, 9500, True), (6, 3, 3000, 400000, False)]


def test_a_port_with_two_paused_priorities_is_paused_until_both_resume(directory):
    (directory / "pfc.txt").write_text("10 0 0 1 1\n20 0 0 1 1\n30 0 0 1 0\n50 0 0 1 0\n")
    pauses = open_run(directory).pauses
    assert pauses[["start_ns", "end_ns"]].to_numpy().tolist() == [[10, 50]]


def test_queue_samples_count_the_empty_ones_too(directory):
    # 400 us of simulated time, a sample each 100 us from 0.
    run = open_run(directory)
    assert run.queue_samples == 5
    assert list(run.queues["port_bytes"]) == [3000, 3000, 8000]


def test_summary_and_layers_are_numbers(directory):
    run = open_run(directory)
    assert run.summary.iloc[0].to_dict() == {
        "job": "job", "exposed_dp": 100, "exposed_dp_ep": 0, "exposed_tp": 40, "exposed_ep": 0,
        "exposed_pp": 0, "exposed_cp": 0, "exposed_other": 0, "bubble": 0, "compute": 260, "exposed": 140, "total": 400}
    assert list(run.layers["layer"]) == ["first", "last"]
    assert run.layers["fwd_busbw"][0] == 37.5 and run.layers["wg_algbw"][1] == 10
    assert run.layers["wg_total_us"].isna().tolist() == [True, False]


def test_collectives_know_the_kind_of_their_group(directory):
    collectives = open_run(directory).collectives
    assert list(collectives["kind"]) == ["TP", "TP", "DP"]
    assert list(collectives["duration_ns"]) == [40000, 50000, 100000]


def test_utilisation_is_the_share_of_the_run(directory):
    links = open_run(directory).links
    assert links["utilisation"][4] == pytest.approx(390000 / 400000)


def test_requests_leave_out_the_percentiles(directory):
    requests = open_run(directory).requests
    assert list(requests["transfer_us"]) == [10, 30]
    assert list(requests["prompt_tokens"]) == [512, 1024]


def test_timeline_and_memory(directory):
    run = open_run(directory)
    assert list(run.timeline["category"]) == ["compute", "wait"]
    assert list(run.timeline["group"]) == [None, "TP"]
    assert list(run.memory["bytes"]) == [64, 0]


def test_nodes_have_names_and_kinds(directory):
    nodes = open_run(directory).nodes
    assert [nodes.name(node) for node in (3, 5, 6)] == ["GPU 3", "NVSwitch 5", "switch 6 (tier 1)"]
    assert nodes.link_kind(0, 4) == "NVLink"
    assert (nodes.link_kind(0, 6), nodes.link_kind(6, 0)) == ("GPU to switch", "switch to GPU")


def test_a_changed_topology_is_not_used(tmp_path):
    run = open_run(run_directory.write(
        tmp_path / "run", inputs=[{"role": "topology", "path": "topology", "sha256": "12"}]))
    assert run.topology is None
    assert "the topology has changed since the run" in lines(run)[0]
    assert run.nodes.name(3) == "node 3"


def test_several_jobs_are_rows_of_one_table(directory):
    for file in ("EndToEnd", "requests"):
        text = (directory / f"{file}.csv").read_text()
        (directory / f"{file}.csv").unlink()
        for job in (0, 10, 2):
            (directory / f"{file}.{job}.csv").write_text(text.replace("job", f"job{job}"))
    run = open_run(directory)
    assert list(run.summary["job"]) == ["job0", "job2", "job10"]
    assert list(run.requests["job"]) == ["0", "0", "1", "1", "2", "2"]


def test_jobs_of_the_same_name_are_numbered(directory):
    text = (directory / "EndToEnd.csv").read_text()
    (directory / "EndToEnd.csv").unlink()
    for job in (0, 1):
        (directory / f"EndToEnd.{job}.csv").write_text(text)
    run = open_run(directory)
    assert list(run.summary["job"]) == ["job (0)", "job (1)"]
    assert list(run.layers["job"]) == ["job (0)", "job (0)", "job (1)", "job (1)"]


@pytest.mark.parametrize("name", ["fct.txt", "pfc.txt", "queue.txt", "bandwidth.txt", "rate.txt",
                                  "cnp.txt", "EndToEnd.csv", "collectives.csv", "links.csv"])
def test_a_missing_file_is_one_line_and_the_rest_is_read(directory, name):
    (directory / name).unlink()
    run = open_run(directory)
    assert lines(run) == [f"{directory / name}: the file is missing; what is made from it is left out; "
                          f"expected a file that the run writes"]


@pytest.mark.parametrize("name, records", [
    ("fct.txt", "flows"), ("pfc.txt", "pause_events"), ("queue.txt", "queues"),
    ("bandwidth.txt", "bandwidth"), ("rate.txt", "rates"), ("cnp.txt", "cnps"),
    ("collectives.csv", "collectives"), ("links.csv", "links")])
def test_a_cut_off_line_is_left_out_and_named(directory, name, records):
    text = run_directory.FILES[name]
    (directory / name).write_text(text[:-3])
    run = open_run(directory)
    header = 0 if name in ("fct.txt", "pfc.txt") else 1
    assert len(getattr(run, records)) == text.count("\n") - header - 1
    assert lines(run) == [f"{directory / name}:{text.count(chr(10))}: the file is cut off in this line, "
                          f"which is left out; expected a line end (has the run finished?)"]


def test_lines_that_are_no_records_are_left_out_and_counted(directory):
    good = run_directory.FCT.splitlines()
    (directory / "fct.txt").write_text("\n".join([good[0], "rubbish", good[1], good[2] + " 9",
                                                  "0b000001 0b0000zz 1 2 3 4 5 6", good[3]]) + "\n")
    run = open_run(directory)
    assert len(run.flows) == 3
    assert lines(run) == [f"{directory}/fct.txt:2: this line and 2 more are no records and are left out; "
                          f"expected src dst sport dport bytes start_ns fct_ns ideal_ns"]


@pytest.mark.parametrize("field", ["99999999999999999999", "1e400", "nan", "0x"])
def test_a_number_that_cannot_be_is_no_record(directory, field):
    (directory / "fct.txt").write_text(run_directory.FCT.replace("1000 0 1000 500", f"1000 0 {field} 500"))
    run = open_run(directory)
    assert len(run.flows) == 3 and "fct.txt:1: this line is not a record" in lines(run)[0]


def test_a_missing_column_is_named(directory):
    (directory / "links.csv").write_text("node,port,peer\n1,2,3\n")
    run = open_run(directory)
    assert run.links is None
    assert lines(run) == [f"{directory}/links.csv:1: the columns rate_bps, tx_bytes, busy_ns, pause_ns, "
                          f"drops are missing; expected node,port,peer,rate_bps,tx_bytes,busy_ns,"
                          f"pause_ns,drops"]


def test_columns_that_come_later_are_kept(directory):
    text = run_directory.LINKS.splitlines()
    (directory / "links.csv").write_text("\n".join(
        [text[0] + ",users", *(line + ",DP:90%" for line in text[1:])]) + "\n")
    assert list(open_run(directory).links["users"]) == ["DP:90%"] * 5


@pytest.mark.parametrize("name", [*run_directory.FILES, "run.json"])
def test_a_file_cut_off_anywhere_never_stops_the_reader(directory, name):
    """And a cut within a line is always seen."""
    text = (directory / name).read_text()
    for length in range(0, len(text) - 1, 1 + len(text) // 10):
        (directory / name).write_text(text[:length])
        run = open_run(directory)
        problems = run.read_all()
        assert all(str(directory) in str(problem) or name == "topology" for problem in problems)
        recognised = name != "memory.csv" or "\n" in text[:length]  # which has any name
        if length and text[length - 1] != "\n" and recognised:
            assert problems, text[:length]


@pytest.mark.parametrize("name", [*run_directory.FILES, "run.json"])
@pytest.mark.parametrize("text", ["\n", "\x00\xff\n", "a,b,c\n1\n", "[1, 2]\n", "time: x\n1 2 y\n"])
def test_rubbish_in_a_file_never_stops_the_reader(directory, name, text):
    (directory / name).write_text(text, encoding="latin-1")
    open_run(directory).read_all()


def test_a_run_that_did_not_finish_says_so(tmp_path):
    run = open_run(run_directory.write(tmp_path / "run", status="stuck"))
    assert lines(run) == [f"{tmp_path}/run/run.json: the status of the run is 'stuck': its results are of "
                          f"what it did until then; expected 'finished'"]


def test_a_directory_without_results_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="holds no results"):
        open_run(tmp_path)
    with pytest.raises(ResultsError, match="no such directory"):
        open_run(tmp_path / "nowhere")
    (tmp_path / "file").write_text("16 2 14\n")
    with pytest.raises(ResultsError, match="file: is a file; expected the output directory of a run"):
        open_run(tmp_path / "file")


def test_runs_of_the_same_name_are_told_apart(tmp_path):
    for parent in ("one", "two"):
        run_directory.write(tmp_path / parent / "run")
    runs = open_runs([tmp_path / "one/run", tmp_path / "two/run"])
    assert [run.name for run in runs] == ["one/run", "two/run"]


def test_runs_of_a_sweep_are_named_after_what_differs(tmp_path):
    names = ["A__SimAI__job__ring", "B__SimAI__job__ring", "B__SimAI__job__nvls"]
    for name in names:
        run_directory.write(tmp_path / name)
    assert [run.name for run in open_runs([tmp_path / name for name in names])] == [
        "A__ring", "B__ring", "B__nvls"]
    assert [run.name for run in open_runs([tmp_path / names[0]])] == [names[0]]


def test_directories_of_simai_are_read_without_run_json(tmp_path):
    for name, file in {"fct.txt": "ncclFlowModel_fct.txt", "queue.txt": "ncclFlowModel_qlen.txt",
                       "bandwidth.txt": "ncclFlowModel_bw.txt", "rate.txt": "ncclFlowModel_rate.txt",
                       "cnp.txt": "ncclFlowModel_cnp.txt", "pfc.txt": "ncclFlowModel_pfc.txt",
                       "EndToEnd.csv": "ncclFlowModel_EndToEnd.csv"}.items():
        (tmp_path / file).write_text(run_directory.FILES[name])
    run = open_run(tmp_path)
    assert lines(run) == []
    assert [len(frame) for frame in (run.flows, run.pause_events, run.queues, run.bandwidth, run.rates,
                                     run.cnps, run.summary)] == [4, 5, 3, 2, 2, 1, 1]
    assert run.simulated_ns == 400500  # the end of the last flow


def test_the_hpcc_simulators_queue_histogram_is_read(tmp_path):
    # Each dump counts from the start, so the last one holds all samples.
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix/fct.txt").write_text(run_directory.FCT)
    (tmp_path / "mix/queue.txt").write_text("time: 1000\n6 1 90 0 10\ntime: 2000\n6 1 180 5 15\n6 2 200\n")
    run = open_run(tmp_path)
    assert run.queues[["time_ns", "node", "port", "port_bytes", "samples"]].to_numpy().tolist() == [
        [2000, 6, 1, 0, 180], [2000, 6, 1, 1000, 5], [2000, 6, 1, 2000, 15], [2000, 6, 2, 0, 200]]


def test_monitor_files_are_found_where_the_configuration_puts_them(tmp_path):
    directory = run_directory.write(tmp_path / "run")
    (directory / "sub").mkdir()
    (directory / "fct.txt").rename(directory / "sub/flows")
    info = json.loads(run_directory.run_json())
    info["options"]["FCT_OUTPUT_FILE"] = "sub/flows"
    (directory / "run.json").write_text(json.dumps(info) + "\n")
    run = open_run(directory)
    assert len(run.flows) == 4 and lines(run) == []


def test_pauses_may_name_their_priority(tmp_path):
    """pfc.txt has it, the HPCC simulator's file has not."""
    for name, lines in (("ours", "10 0 0 1 1 3\n20 0 0 1 1 4\n30 0 0 1 0 3\n50 0 0 1 0 4\n"),
                        ("hpcc", "10 0 0 1 1\n20 0 0 1 1\n30 0 0 1 0\n50 0 0 1 0\n")):
        directory = tmp_path / name
        run_directory.write(directory)
        (directory / "pfc.txt").write_text(lines)
        run = open_run(directory)
        assert [(pause.start_ns, pause.end_ns) for pause in run.pauses.itertuples()] == [(10, 50)], name
        assert ("priority" in run.pause_events) == (name == "ours")
