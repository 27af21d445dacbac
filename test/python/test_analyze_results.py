# SPDX-License-Identifier: GPL-2.0-only
"""scripts/analyze_results.py: every number of its tables is worked out from the records in view."""
import csv
import json
import pathlib
import random
import re
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/analyze_results.py"
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import run_directory  # noqa: E402
from clustersim.results import ResultsError, open_runs, tables  # noqa: E402
from clustersim.results.page.glance import glance_of  # noqa: E402
from clustersim.results.plots import KINDS  # noqa: E402
from clustersim.results.tables.percentiles import percentiles  # noqa: E402


@pytest.fixture
def runs(tmp_path):
    """Run "slow" takes twice as long as "fast" and has half the bandwidth."""
    run_directory.write(tmp_path / "fast")
    slow = run_directory.write(tmp_path / "slow", simulated_ns=800000.0,
                               options={"CC_MODE": "3", "MON_START": "0", "MON_END": "20000",
                                        "QLEN_MON_INTERVAL": "100"})
    (slow / "EndToEnd.csv").write_text(run_directory.END_TO_END
                                       .replace("job,100.000000 (25.00%)", "job,500.000000 (62.50%)")
                                       .replace("140.000000 (35.00%),400.000000",
                                                "540.000000 (67.50%),800.000000")
                                       .replace(",,100.000000,,,,,100.000000,10.000000,10.000000",
                                                ",,500.000000,,,,,500.000000,2.000000,2.000000"))
    (slow / "collectives.csv").write_text(run_directory.COLLECTIVES.replace("10.000000", "5.000000"))
    return open_runs([tmp_path / "fast", tmp_path / "slow"])


def table(runs, key):
    return next(each for each in tables.all_tables(runs) if each.key == key).records()


def test_completion_compares_with_the_first_run(runs):
    fast, slow = table(runs, "completion")
    assert (fast["total us"], fast["x first run"], fast["exposed %"]) == (400, 1, 35)
    assert (slow["total us"], slow["x first run"], slow["exposed %"]) == (800, 2, 67.5)
    assert (slow["exposed DP us"], slow["exposed TP us"]) == (500, 40)


def test_layers_that_differ_most_come_first_and_equal_ones_not_at_all(runs):
    assert table(runs, "layers") == [{"layer": "last", "fast": 100, "slow": 500}]


def test_layers_of_two_jobs_are_kept_apart(runs):
    text = (runs[0].directory / "EndToEnd.csv").read_text()
    for job in ("0", "1"):
        (runs[0].directory / f"EndToEnd.{job}.csv").write_text(text.replace("job,", f"job{job},"))
    (runs[0].directory / "EndToEnd.csv").unlink()
    rows = table(open_runs([runs[0].directory]), "layers")
    assert [(row["layer"], row["fast"]) for row in rows] == [
        ("job0: last", 100), ("job1: last", 100), ("job0: first", 40), ("job1: first", 40)]


def test_columns_without_content_are_left_out_for_people_only(runs):
    completion = next(each for each in tables.all_tables(runs) if each.key == "completion")
    assert "bubble us" in completion.columns and "bubble us" not in completion.for_people().columns
    assert "exposed DP us" in completion.for_people().columns


def test_options_that_differ_are_listed(runs):
    assert {row["option"]: (row["fast"], row["slow"]) for row in table(runs, "differences")} == {
        "CC_MODE": ("1", "3")}


def test_busbw_is_the_median_over_groups(runs):
    assert table(runs, "busbw") == [
        {"op": "AllReduce", "group": "DP", "ranks": 2, "bytes": 1000000, "algorithm": "Ring Simple",
         "fast GB/s": 10, "slow GB/s": 5},
        {"op": "AllReduce", "group": "TP", "ranks": 2, "bytes": 1000000, "algorithm": "Ring Simple",
         "fast GB/s": 22.5, "slow GB/s": 22.5}]


def test_slowdowns_tell_nvlink_from_the_network(runs):
    # GPU 0 and 1 share a server: slowdown 2 of 1000 bytes. The others are 2, 3 and 1 over the network.
    rows = [row for row in table(runs, "slowdown") if row["run"] == "fast"]
    assert [(row["path"], row["flow size"], row["flows"], row["p50"], row["max"]) for row in rows] == [
        ("network", "1 - 10 MB", 3, 2, 3), ("network", "all", 3, 2, 3),
        ("NVLink", "< 10 KB", 1, 2, 2), ("NVLink", "all", 1, 2, 2)]


def test_pauses_are_summed_by_kind_of_node(runs):
    rows = [row for row in table(runs, "pfc") if row["run"] == "fast"]
    # GPU 0: 3 us and 0.5 us. Switch 6: from 3 us to the end at 400 us.
    assert [(row["paused"], row["pauses"], row["ports"], row["paused us"], row["longest us"],
             row["most paused"]) for row in rows] == [
        ("GPU", 2, 1, 3.5, 3, "GPU 0 port 2"), ("tier 1", 1, 1, 397, 397, "switch 6 (tier 1) port 3")]


def test_the_origin_of_pauses_is_who_is_not_paused(runs):
    row = table(runs, "origins")[0]
    assert (row["origin"], row["queues it paused"], row["paused us"], row["storms"]) == ("GPU 1", 1, 20, 1)
    # Behind it are switch 6's queue, and GPU 0's and GPU 2's, which wait for switch 6: 20 + 3.5 + 1 us.
    assert (row["queues behind it"], row["paused in all us"]) == (3, 24.5)


def test_queue_percentiles_count_empty_samples(runs):
    fast = table(runs, "queues")[0]
    # Switch 6 has 4 ports, sampled 5 times: 18 samples are 0, one 3000, one 8000 bytes.
    assert (fast["switches"], fast["samples"], fast["not empty %"]) == ("tier 1", 20, 10)
    assert [fast[name] for name in ("p50 KB", "p95 KB", "p99 KB", "max KB")] == [0, 3, 8, 8]


def test_utilisation_by_kind_of_link(runs):
    rows = {row["links"]: row for row in table(runs, "utilisation") if row["run"] == "fast"}
    # 80 of 400 us on each of two links up; 5.12 and 390 us down.
    assert rows["GPU to switch"]["mean %"] == pytest.approx(20)
    assert rows["switch to GPU"]["max %"] == pytest.approx(97.5)
    assert rows["switch to GPU"]["max / mean"] == pytest.approx(390 / 197.56)
    assert rows["GPU to switch"]["paused us"] == 3.5 and rows["switch to GPU"]["drops"] == 3
    # Two links up with the same bytes; 64 and 5000 KB down.
    assert rows["GPU to switch"]["spread %"] == pytest.approx(100)
    small, large = 64 / 5064, 5000 / 5064
    assert rows["switch to GPU"]["spread %"] == pytest.approx(50 * small ** -small * large ** -large)


def test_links_that_trimmed_or_sent_again_say_so(tmp_path):
    run_directory.write(tmp_path / "fast")
    lines = run_directory.LINKS.splitlines()
    (tmp_path / "fast/links.csv").write_text("\n".join([lines[0] + ",trims,replays", *(
        f"{line},{number},{10 * number}" for number, line in enumerate(lines[1:]))]) + "\n")
    runs = open_runs([tmp_path / "fast"])
    found = {one.key: one for one in tables.all_tables(runs)}
    hottest = found["hottest"]
    columns = [hottest.columns.index(name) for name in ("from", "trimmed packets", "replays")]
    assert [tuple(row[i] for i in columns) for row in hottest.rows[:1]] == [("switch 6 (tier 1)", 4, 40)]
    assert sum(row[found["utilisation"].columns.index("replays")] for row in found["utilisation"].rows) == 100


def test_hottest_links_leave_out_nvlink(runs):
    rows = [row for row in table(runs, "hottest") if row["run"] == "fast"]
    assert [(row["from"], row["to"]) for row in rows] == [
        ("switch 6 (tier 1)", "GPU 1"), ("GPU 0", "switch 6 (tier 1)"), ("GPU 1", "switch 6 (tier 1)"),
        ("switch 6 (tier 1)", "GPU 0")]


def test_requests(runs):
    row = table(runs, "requests")[0]
    assert (row["requests"], row["MB"], row["p50 us"], row["p99 us"]) == (2, 3, 10, 30)


def test_percentiles_are_by_nearest_rank():
    assert percentiles(range(1, 101), (50, 95, 99, 99.9, 100)) == [50, 95, 99, 100, 100]
    assert percentiles([5, 1], (50, 51)) == [1, 5]
    assert percentiles([7], (50, 90, 95), zeros=9) == [0, 0, 7]
    assert percentiles([0, 1000], (50, 95, 100), weights=[95, 5]) == [0, 0, 1000]
    assert percentiles([], (50,)) == [None]


ODD = (b"-1", b"nan", b"inf", b"1e400", b"99999999999999999999", b",", b"\n", b'"', b"null", b"[]", b"")


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_stops_the_tables(tmp_path, seed):
    """A number, or a piece of three files each, becomes something odd: the tables are still made."""
    chance = random.Random(seed)
    directory = run_directory.write(tmp_path / "run")
    for path in chance.sample(sorted(directory.iterdir()), 3):
        data = path.read_bytes()
        numbers = list(re.finditer(rb"\d+(\.\d+)?", data))
        place = chance.choice(numbers).span() if chance.random() < 0.7 else sorted(
            chance.sample(range(len(data)), 2))
        path.write_bytes(data[:place[0]] + chance.choice(ODD) + data[place[1]:])
    opened = open_runs([directory])
    assert opened[0].read_all() is not None
    for each in tables.all_tables(opened):
        assert tables.as_text(each) and tables.as_markdown(each)


def run(*arguments):
    return run_script([SCRIPT, *map(str, arguments)])


def test_csv_and_markdown_are_written(runs, tmp_path):
    result = run("--dirs", tmp_path / "fast", tmp_path / "slow", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    with open(tmp_path / "out/completion.csv", newline="") as file:
        assert [row["total us"] for row in csv.DictReader(file)] == ["400.0", "800.0"]
    markdown = (tmp_path / "out/comparison.md").read_text()
    assert "| fast | 400.000 | 1.000 |" in markdown and "## Hottest network links" in markdown


def test_runs_may_stand_alone_and_what_is_written_is_named(runs, tmp_path):
    alone = run(tmp_path / "fast", tmp_path / "slow", "-o", tmp_path / "out")
    assert alone.returncode == 0, alone.stderr
    assert f"{tmp_path}/out/comparison.md" in alone.stdout.splitlines()[-1]
    assert run("--dirs", tmp_path / "fast", tmp_path / "slow", "-o", tmp_path / "out").stdout == alone.stdout
    refused = run("-o", tmp_path / "out")
    assert refused.returncode == 2 and "no run" in refused.stderr


def test_a_cut_off_run_gives_a_warning_and_all_else(runs, tmp_path):
    (tmp_path / "slow/links.csv").unlink()
    (tmp_path / "slow/fct.txt").write_text(run_directory.FCT[:-9])
    result = run("--dirs", tmp_path / "fast", tmp_path / "slow")
    assert result.returncode == 0
    assert sorted(result.stderr.splitlines()) == [
        f"warning: {tmp_path}/slow/fct.txt:4: the file is cut off in this line, which is left out; "
        f"expected a line end (has the run finished?)",
        f"warning: {tmp_path}/slow/links.csv: the file is missing; what is made from it is left out; "
        f"expected a file that the run writes"]
    for title in ("Completion time", "Slowdown of flows", "Utilisation of links"):
        assert title in result.stdout


def test_a_directory_without_results_is_refused(tmp_path):
    result = run("--dirs", tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith(f"analyze_results.py: {tmp_path}: holds no results")


def test_only_the_tables_asked_for_are_printed(runs, tmp_path):
    result = run("--dirs", tmp_path / "fast", "--tables", "busbw")
    assert result.stdout.startswith("Bus bandwidth of collectives by size\n")
    assert "Runs" not in result.stdout


def test_every_table_is_asked_for_by_its_key(runs, tmp_path):
    keys = [table.key for table in tables.all_tables(runs)]
    assert {"pfc", "queues", "busbw"} <= set(keys)
    for key in keys:
        assert [table.key for table in tables.all_tables(runs, [key])] == [key]
    assert run("--dirs", tmp_path / "fast", "--tables", "pfc").stdout.startswith("PFC pauses\n")
    documented = re.findall(r"^``(\w+)``  ", (ROOT / "docs/source/howto/compare-runs.rst").read_text(), re.MULTILINE)
    assert documented == list(tables.MAKER_OF)


def test_files_of_tables_that_are_not_asked_for_are_not_read(runs, tmp_path):
    (tmp_path / "fast/fct.txt").write_text("no flows\n")
    assert run("--dirs", tmp_path / "fast", "--tables", "busbw", "pfc").stderr == ""
    assert "fast/fct.txt:1: this line is not a record" in run("--dirs", tmp_path / "fast", "--tables",
        "slowdown").stderr
    (tmp_path / "out").mkdir()
    written = run("--dirs", tmp_path / "fast", "--tables", "busbw", "-o", tmp_path / "out")
    assert "fast/fct.txt:1" in written.stderr and (tmp_path / "out/pfc.csv").is_file(), "-o writes all tables"


def reused(directory, **more):
    """@return a run whose traffic was simulated beside it; files of the network are there, with users of links"""
    run_directory.write(directory, network="packet", fast_forward={"simulated": 400, "reused": 600, **more})
    lines = run_directory.LINKS.splitlines()
    (directory / "links.csv").write_text("\n".join([lines[0] + ",messages,used_by,largest_flows", *(
        f"{line},1,AllReduce TP 60%; AllReduce DP 40%,0>1 9%" for line in lines[1:])]) + "\n")
    return directory


def test_after_fast_forward_nothing_is_made_of_files_of_the_network(tmp_path):
    run, = runs = open_runs([reused(tmp_path / "fast")])
    found = {table.key: table for table in tables.all_tables(runs)}
    assert not {"verdict", "utilisation", "hottest", "slowdown", "pfc", "origins", "queues"} & set(found)
    warning, = (str(problem) for problem in run.problems if "--fast-forward" in problem.what)
    assert "fct.txt, links.csv and monitors lack it" in warning
    assert any("--fast-forward" in sentence for sentence in glance_of(runs).sentences)
    with pytest.raises(ResultsError, match="--fast-forward"):
        KINDS["links"].draw(runs)
    assert len(found["busbw"].rows) == 2, "collectives are all there"


def test_a_run_that_began_anew_without_reuse_is_whole(tmp_path):
    directory = reused(tmp_path / "fast")
    record = json.loads((directory / "run.json").read_text())
    del record["fast_forward"]
    (directory / "run.json").write_text(json.dumps(record
                                                   | {"fast_forward_given_up": {"unit": "packet_hops",
                                                       "simulated": 9}}))
    run, = runs = open_runs([directory])
    assert {"verdict", "utilisation", "hottest"} <= {table.key
                                                     for table in tables.all_tables(runs)} and not run.problems


@pytest.mark.parametrize("script", ["analyze_results.py", "report.py", "plot.py", "busbw_table.py", "goodput.py"])
def test_every_tool_tells_why_times_are_approximate(tmp_path, script):
    directory = run_directory.write(tmp_path / "fast",
                                    fast_forward={"simulated": 4, "approximate": ["9 PFC pauses", "3 lost packets"]})
    flags = {"analyze_results.py": ["--dirs", directory], "report.py": [directory, "-o", tmp_path / "report.html"],
             "plot.py": ["busbw", directory, "-o", tmp_path / "figure.svg"], "busbw_table.py": [directory],
             "goodput.py": ["--part", "GPU=8:50000", "--checkpoint", "60", "--restart", "600", "--run",
                            directory]}[script]
    told = run_script([ROOT / "scripts" / script, *map(str, flags)])
    assert "approximate with --fast-forward (9 PFC pauses; 3 lost packets)" in told.stderr, told.stderr


def inputs(name):
    return [{"role": "workload", "path": f"{name}.txt", "sha256": name * 8},
            {"role": "topology", "path": "topology", "sha256": ""}]


def test_only_runs_of_one_workload_are_divided_by_each_other(tmp_path):
    directories = []
    for workload, factor in (("dense", 1), ("dense", 2), ("moe", 5), ("moe", 10)):
        directories.append(run_directory.write(tmp_path / f"{workload}{factor}", inputs=inputs(workload)))
        text = (directories[-1] / "EndToEnd.csv").read_text()
        (directories[-1] / "EndToEnd.csv").write_text(text.replace(",400.000000\nlayer_name",
            f",{400 * factor}.000000\nlayer_name"))
    runs = open_runs(directories)
    assert [(row["total us"], row["x first run"]) for row in table(runs, "completion")] == [
        (400, 1), (800, 2), (2000, 1), (4000, 2)]
    glance = glance_of(runs)
    assert glance.sentences[:2] == ["dense.txt: dense1 is fastest with 400 \u00b5s; dense2 takes 2.00 times as long.",
                                    "moe.txt: moe5 is fastest with 2 ms; moe10 takes 2.00 times as long."]
    assert [bar.relative for bar in glance.bars] == ["1.00 x", "2.00 x", "1.00 x", "2.00 x"]


def test_trimmed_packets_and_how_far_others_ran_ahead_are_told(tmp_path):
    runs = open_runs([run_directory.write(tmp_path / "uec", trimmed_packets=12, out_of_order_packets=3,
                                          reorder_bytes=9000),
                      run_directory.write(tmp_path / "roce", trimmed_packets=0, out_of_order_packets=0,
                                          reorder_bytes=0)])
    assert "uec: switches cut the payload off 12 packets." in glance_of(runs).sentences
    uec, roce = table(runs, "runs")
    assert (uec["trimmed packets"], uec["out of order"], uec["bytes ahead"]) == (12, 3, 9000)
    assert roce["trimmed packets"] is None
    assert "trimmed packets" not in table(runs[1:], "runs")[0]


def test_runs_that_serve_requests_are_compared_by_what_users_saw(tmp_path):
    """They last as long as requests come, so the lengths of two of them say nothing of the instances."""
    directories = []
    for number, name in enumerate(("kv", "burst"), 1):
        directories.append(run_directory.write(tmp_path / name, inputs=inputs("serve")))
        (directories[-1] / "inference.csv").write_text(
            f"metric,mean,p50,p90,p99,max\nttft_us,{1000 * number},1,1,1,1\ne2e_us,{5000 * number},1,1,1,1\n"
            f"requests,20,,,,\n")
    text = (directories[0] / "EndToEnd.csv").read_text()
    (directories[0] / "EndToEnd.csv").write_text(text.replace(",400.000000\nlayer_name", ",4000.000000\nlayer_name"))
    runs = open_runs(directories)
    assert [row["x first run"] for row in table(runs, "completion")] == [None, None]
    glance = glance_of(runs)
    assert [sentence for sentence in glance.sentences if "requests" in sentence] == [
        "kv: 20 requests; the mean one has its first token after 1 ms and its last after 5 ms.",
        "burst: 20 requests; the mean one has its first token after 2 ms and its last after 10 ms."]
    assert not any("fastest" in sentence for sentence in glance.sentences) and not any(bar.relative
        for bar in glance.bars)
    assert [part.name for part in glance.bars[0].parts][-1] == "no request to serve"
    # Limits are the workload's: without any, nothing is said of them.
    serving = next(each for each in tables.all_tables(runs) if each.key == "serving")
    assert "within limits %" not in serving.for_people().columns and "refused" not in serving.for_people().columns
