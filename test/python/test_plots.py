# SPDX-License-Identifier: GPL-2.0-only
"""scripts/plot.py: what is drawn is what the files say; what is missing is named, the rest is drawn."""
import json
import os
import pathlib
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree

import matplotlib
import numpy as np
import pytest
from script_process import run_script

import run_directory
import test_damaged_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
sys.path.insert(0, str(ROOT / "scripts"))

from clustersim.results import ResultsError, open_run, open_runs  # noqa: E402
from clustersim.results import breakdown as breakdown_of_time  # noqa: E402
from clustersim.results.page import figures  # noqa: E402
from clustersim.results.plots import KINDS, bandwidths, pairs, pauses, queues, serving, style, timelines  # noqa: E402
from clustersim.workload.estimate.estimate import SHARES  # noqa: E402

TOPOLOGY = "\n".join(["6 2 1 1 8 A100", "4 5 ", *(f"{g} 4 2400Gbps 0.000025ms 0\n{g} 5 100Gbps 0.0005ms 0"
                                                  for g in range(4))]) + "\n"
# In one server all flows take NVLink, so all are drawn.
FILES = {
    "topology": TOPOLOGY.replace("6 2 1 1", "6 4 1 1"),
    "run.json": json.dumps({"status": "finished", "simulated_ns": 50000.0, "topology": "topology",
                            "inputs": [{"role": "workload", "path": "w.txt", "sha256": ""}],
                            "options": {"MON_START": "0", "MON_END": "40", "QLEN_MON_INTERVAL": "10"}}),
    # host 0 -> 1 and so on; 1000 bytes: 2, 4, 6 us for 1, 2, 2 us alone; 2000 bytes: 10 us for 5 us alone
    "fct.txt": "".join(f"0b00{s:02x}01 0b00{d:02x}01 10000 100 {size} 0 {fct} {ideal}\n" for s, d, size, fct, ideal in
                       [(0, 1, 1000, 2000, 1000), (1, 2, 1000, 4000, 2000), (2, 3, 1000, 6000, 2000),
                        (3, 0, 2000, 10000, 5000)]),
    "pfc.txt": "1000 5 1 2 1\n3000 5 1 2 0\n2000 0 0 2 1\n6000 0 0 2 0\n",
    "queue.txt": "time, sw_id, port_id, q_id, q_len, port_len\n10000, 5, 1, 3, 400, 500\n10000, 5, 1, 0, 100, 500\n"
                "10000, 5, 2, 3, 2000, 2000\n30000, 5, 2, 3, 1000, 1000\n",
    "bandwidth.txt": "time, node_id, port_id, bandwidth\n",
    "rate.txt": "time, src, dst, sport, dport, size, curr_rate\n" + "".join(
        f"{t}, {s}, 3, 10000, 100, 5000, {r}\n" for t, s, r in
        [(0, 0, 100), (0, 1, 100), (1000, 0, 50), (1000, 1, 80), (2000, 1, 90), (5000, 1, 95)]),
    "reordering.csv": "src,dst,sport,dport,qpn,priority,out_of_order_packets,reorder_bytes\n"
                      "0,3,10000,100,1,3,12,9000\n3,0,10001,100,2,3,1,1000\n0,3,10002,100,3,3,2,4000\n",
    "cnp.txt": "time, src, dst, sport, dport, size, cnp_number\n1000, 0, 3, 10000, 100, 5000, 2\n"
               "2000, 0, 3, 10000, 100, 5000, 5\n",
    "collectives.csv":
        "id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,algbw,busbw,flows\n"
        "1,a,0,fwd,TP0,4,AllReduce,1048576,Ring,LL,2,1000.000,11000.000,104.857600,157.286400,6\n"
        "2,a,0,fwd,TP1,4,AllReduce,1048576,Ring,LL,2,1000.000,21000.000,52.428800,78.643200,6\n"
        "3,b,0,fwd,TP0,4,AllGather,4194304,Ring,LL,2,5000.000,30000.000,167.772160,125.829120,6\n",
    "links.csv": "node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops\n"
                 "0,2,5,100000000000,1000,20000.000,0.000,0\n5,1,0,100000000000,1000,10000.000,0.000,0\n"
                 "1,2,5,100000000000,1000,5000.000,0.000,0\n5,2,1,100000000000,1000,45000.000,0.000,0\n",
    "EndToEnd.csv": run_directory.END_TO_END,
    "timeline.json": "[\n" + ",\n".join(json.dumps(event) for event in [
        {"ph": "X", "pid": 0, "tid": 0, "name": "a", "cat": "compute", "ts": 0, "dur": 10, "args": {}},
        {"ph": "X", "pid": 0, "tid": 1, "name": "bubble", "cat": "wait", "ts": 10, "dur": 5, "args": {}},
        {"ph": "X", "pid": 0, "tid": 2, "name": "AllReduce", "cat": "stream", "ts": 3, "dur": 12, "args": {}},
        {"ph": "X", "pid": 0, "tid": 9, "name": "to 3", "cat": "flow", "ts": 3, "dur": 2, "args": {}},
    ]) + "\n]\n",
}


@pytest.fixture
def directory(tmp_path):
    directory = tmp_path / "one"
    directory.mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text)
    return directory


def draw(kind, *directories, **options):
    with style.theme():
        return KINDS[kind].draw(open_runs(directories), **options)


def labelled(axes):
    return {handle.get_label(): handle for handle in axes.lines if not handle.get_label().startswith("_")}


def plot(*arguments):
    return run_script([ROOT / "scripts/plot.py", *map(str, arguments)])


def boxes(axes):
    """@return (left, right) of every bar by the row at its middle, in the units of the axis"""
    found = {}
    for collection in axes.collections:
        for path in collection.get_paths():
            (left, bottom), (right, top) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            found.setdefault(round((bottom + top) / 2), []).append((round(left, 6), round(right, 6)))
    return found


def test_the_cdf_steps_at_each_completion_time(directory):
    axes = draw("fct", directory).axes[0]
    x, y = axes.lines[0].get_data()
    assert axes.get_xlabel().endswith("(µs)")
    assert list(x) == [2, 2, 4, 6, 10] and list(y) == [0, 25, 50, 75, 100]
    assert "4 flows, median 4 µs, 99% 10 µs" in axes.lines[0].get_label()


def test_flows_inside_a_server_are_left_out_where_there_are_others(directory):
    servers_of_two = (FILES["topology"].replace("6 4 1 1 8", "7 2 2 1 8").replace("4 5 ", "4 5 6 ")
                      .replace(" 5 100", " 6 100").replace("2 4 2400", "2 5 2400").replace("3 4 2400", "3 5 2400"))
    (directory / "topology").write_text(servers_of_two)
    axes = draw("fct", directory).axes[0]
    assert list(axes.lines[0].get_xdata()) == [4, 4, 10], "1 to 2 and 3 to 0"
    assert any("NVLink are left out" in text.get_text() for text in axes.texts)


def test_slowdown_is_by_flow_size(directory):
    figure = draw("slowdown", directory)
    median, tail = (axes.lines[0].get_ydata() for axes in figure.axes)
    assert list(median) == [2, 2] and list(tail) == [3, 2]  # 2, 2, 3 of 1000 bytes; 2 of 2000
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["1 KB", "2 KB"]


def test_ticks_that_would_touch_are_left_out():
    assert style.apart([1, 2, 4, 1024, 1030], 11) == [1, 2, 4, 1024]
    assert style.apart([7], 10) == [7]


def test_completion_times_of_one_magnitude_have_a_linear_axis(directory):
    assert draw("fct", directory).axes[0].get_xscale() == "linear"
    (directory / "fct.txt").write_text(FILES["fct.txt"] + "0b000001 0b000101 1 1 9000 0 90000 100\n")
    assert draw("fct", directory).axes[0].get_xscale() == "log"


def test_many_sizes_make_buckets_of_equal_numbers():
    from clustersim.results.plots.flows import BUCKETS, buckets_of
    largest = buckets_of(np.arange(1, 12 * BUCKETS + 1))
    assert list(largest) == [12 * (i + 1) for i in range(BUCKETS)]


def test_empty_queues_count_as_zero_at_times_without_a_line(directory):
    times, ports, grid = queues.lengths(open_run(directory))
    assert list(times) == [0, 10000, 20000, 30000, 40000]
    assert ports == [(5, 2), (5, 1)]
    assert grid.tolist() == [[0, 2000, 0, 1000, 0], [0, 500, 0, 0, 0]]
    axes = draw("queues", directory).axes[0]
    assert "KB" in axes.get_ylabel()
    fullest = labelled(axes)["switch 5 → GPU 1"]
    assert list(fullest.get_xdata()) == [0, 10, 20, 30, 40] and list(fullest.get_ydata()) == [0, 2, 0, 1, 0]


def test_the_heat_map_has_a_row_per_port(directory):
    axes, bar = draw("heat", directory).axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["switch 5 → GPU 0", "switch 5 → GPU 1"]
    assert axes.collections[0].get_array().reshape(2, 5).tolist() == [[0, 0.5, 0, 0, 0], [0, 2, 0, 1, 0]]
    assert "KB" in bar.get_ylabel()


def test_pauses_are_bars_from_pause_to_resume(directory):
    above, rows = draw("pfc", directory).axes
    assert [t.get_text() for t in rows.get_yticklabels()] == ["GPU 0 port 2", "switch 5 → GPU 1"] or \
        [t.get_text() for t in rows.get_yticklabels()] == ["GPU 0 → switch 5", "switch 5 → GPU 1"]
    assert boxes(rows) == {0: [(2, 6)], 1: [(1, 3)]}
    times, count = pauses.paused_ports(open_run(directory).pauses)
    assert list(zip(times, count)) == [(1000, 1), (2000, 2), (3000, 1), (6000, 0)]


def test_rates_have_gaps_where_a_pair_was_not_sampled(directory):
    above, below = draw("rates", directory).axes
    lines = labelled(above)
    assert list(lines["GPU 0 → GPU 3 :10000"].get_ydata()) == [100, 50]
    y = lines["GPU 1 → GPU 3 :10000"].get_ydata()
    assert list(y[:3]) == [100, 80, 90] and np.isnan(y[3]) and y[4] == 95
    assert list(below.lines[0].get_ydata()) == [2, 5, 5], "notifications add up and stay to the end"
    run = open_run(directory)
    assert pairs.interesting(run.rates, run.cnps)[0] == (0, 3, 10000, 100, 0), "the pair with notifications first"


def test_two_pairs_of_the_same_hosts_and_ports_have_a_line_each(directory):
    (directory / "rate.txt").write_text("time, src, dst, sport, dport, size, curr_rate, qpn\n" + "".join(
        f"{t}, 0, 3, 10000, 100, 5000, {rate}, {qpn}\n{t}, 1, 3, 10000, 100, 5000, 100.0, 2\n"
        for t in (0, 1000, 2000) for qpn, rate in ((4, 203.1), (9, 400.0))))
    (directory / "cnp.txt").write_text("time, src, dst, sport, dport, size, cnp_number, qpn\n"
                                       "1000, 0, 3, 10000, 100, 5000, 2, 4\n1000, 0, 3, 10000, 100, 5000, 3, 9\n")
    above, below = draw("rates", directory).axes
    lines = labelled(above)
    assert list(lines["GPU 0 → GPU 3 :10000 QP 4"].get_ydata()) == [203.1] * 3
    assert list(lines["GPU 0 → GPU 3 :10000 QP 9"].get_ydata()) == [400] * 3
    assert "GPU 1 → GPU 3 :10000" in lines, "addresses tell it from the others"
    assert sorted(line.get_ydata()[-1] for line in below.lines) == [2, 3]


def test_rates_without_notifications_have_one_panel_that_says_so(directory):
    (directory / "cnp.txt").write_text("time, src, dst, sport, dport, size, cnp_number\n")
    axes, = draw("rates", directory).axes
    assert any(text.get_text() == "no pair got a congestion notification" for text in axes.texts)
    head, *lines = (directory / "rate.txt").read_text().splitlines()
    full = [line.rpartition(",")[0] + ", 100.000000" for line in lines]
    (directory / "rate.txt").write_text("\n".join([head, *full]) + "\n")
    axes, = draw("rates", directory).axes
    assert any(text.get_text() == "line rate throughout, no congestion notification" for text in axes.texts)
    line, = axes.get_lines()  # all of them lie on it
    assert line.get_label() == "2 queue pairs" and set(line.get_ydata()[~np.isnan(line.get_ydata())]) == {100}


def test_lines_on_each_other_become_one_with_both_names():
    with style.theme("light"):
        _, axes = style.new_figure()
        for label, values in (("a", [1, 2, 100]), ("b", [1, 2.001, 100]), ("c", [1, 2.1, 100])):
            axes.plot([1, 2, 3], values, label=label)
        assert style.merge_coinciding(axes) == 2
    # c lies 0.1% of the picture's range from a, but differs by 5% from it.
    assert [line.get_label() for line in axes.get_lines()] == ["a\n= b", "c"]


def test_links_show_their_busier_direction(directory):
    figure = draw("links", directory)
    assert "Link utilisation" in figure.axes[0].get_title(loc="left")
    drawn = next(c for c in figure.axes[0].collections if c.get_array() is not None)
    # Of 8 links two carried something, at 40% and 90%; what carried nothing is left out, and said so.
    assert sorted(np.round(drawn.get_array(), 6)) == [40, 90]
    assert (drawn.norm.vmin, drawn.norm.vmax) == (0, 100), "one scale for all runs"
    remark = next(text.get_text() for text in figure.axes[0].texts if "left out" in text.get_text())
    assert remark.startswith("left out: 6 links that carried nothing")
    assert "%" in figure.axes[1].get_ylabel()


def count_on_a_link(directory, column, count):
    """Writes a count into a column of links.csv, in the row of the first link that carried something."""
    lines = (directory / "links.csv").read_text().splitlines()
    if column not in lines[0].split(","):
        lines = [lines[0] + f",{column}", *(line + ",0" for line in lines[1:])]
    names = lines[0].split(",")
    used = next(number for number, line in enumerate(lines[1:], 1) if int(line.split(",")[names.index("tx_bytes")]))
    row = lines[used].split(",")
    row[names.index(column)] = str(count)
    lines[used] = ",".join(row)
    (directory / "links.csv").write_text("\n".join(lines) + "\n")


def test_reordering_shows_the_deepest_of_each_pair_of_hosts(directory):
    above, axes = draw("reordering", directory).axes
    assert [bar.get_width() for bar in axes.patches] == [9, 1], "KB"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["GPU 0 → GPU 3", "GPU 3 → GPU 0"]
    (steps,) = above.lines
    assert list(steps.get_xdata()) == [0, 1, 4, 9] and list(steps.get_ydata())[-1] == 1


@pytest.mark.parametrize("kind", ["trims", "replays"])
def test_links_show_what_they_trimmed_or_sent_again(directory, kind):
    with pytest.raises(ResultsError, match=f"column {kind} of links.csv"):
        draw(kind, directory)
    count_on_a_link(directory, kind, 70)
    figure = draw(kind, directory)
    drawn = next(c for c in figure.axes[0].collections if c.get_array() is not None)
    assert sorted(drawn.get_array()) == [0, 70], "of the two links that carried something"
    assert (drawn.norm.vmin, drawn.norm.vmax) == (0, 100)


def test_busbw_is_the_median_of_groups_beside_what_was_measured(directory):
    axes = draw("busbw", directory).axes[0]
    lines = labelled(axes)
    assert list(lines["AllReduce, TP of 4"].get_xdata()) == [1048576]
    assert lines["AllReduce, TP of 4"].get_ydata()[0] == pytest.approx((157.2864 + 78.6432) / 2)
    assert not any("measured" in label for label in lines), "measured were groups of 8"
    own = directory / "own.csv"
    own.write_text("source,gpu_type,op,ranks,bytes,busbw\nlab,A100,AllReduce,4,1048576,99\n"
                   "lab,H100,AllReduce,4,1048576,98\n")
    lines = labelled(draw("busbw", directory, published=own).axes[0])
    assert list(lines["measured: 4 × A100, AllReduce (lab)"].get_ydata()) == [99]
    assert not any("H100" in label for label in lines)


def test_the_measurements_that_come_along_are_those_of_the_formats_page():
    table = bandwidths.read_published()
    points = {(gpu, size): busbw for gpu, size, busbw in zip(table["gpu_type"], table["bytes"], table["busbw"])}
    assert points["A100", 1 << 20] == 36.22 and points["H100", 8 << 30] == 478.87 and len(points) == 16


def test_they_are_those_that_published_busbw_compares_with():
    from clustersim_lab.comparisons.published_busbw import MEASURED
    table = bandwidths.read_published()
    for gpu, points in MEASURED.items():
        ours = table[table["gpu_type"] == gpu].set_index("bytes")["busbw"]
        assert points == {mebibytes: ours[mebibytes << 20] for mebibytes in points}


def test_collectives_that_overlap_share_their_row(directory):
    axes = draw("collectives", directory).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["TP0 (4 ranks)", "TP1 (4 ranks)"]
    spans = sorted(span for row in boxes(axes).values() for span in row)
    assert [span for span in spans if span != (0, 0)] == [(1, 11), (1, 21), (5, 30)]
    lane, count = timelines.lanes([(0, 10), (5, 20), (10, 15)])
    assert lane == [0, 1, 0] and count == 2


def test_ranks_show_activities_and_streams(directory):
    axes = draw("ranks", directory).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["rank 0", "streams"]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["compute", "bubble", "AllReduce"]
    assert boxes(axes) == {0: [(0, 10), (10, 15)], 1: [(3, 15)]}


@pytest.mark.parametrize("groups, at_once, size", [(1, 1, 7), (25, 1, 7), (25, 2, 0.4 * 72 * 0.2), (25, 3, None)])
def test_sizes_are_written_into_bars_that_are_high_enough(directory, groups, at_once, size):
    header, first = [line.split(",") for line in FILES["collectives.csv"].splitlines()[:2]]
    place = header.index("group")
    rows = [first[:place] + [f"TP{i}"] + first[place + 1:] for i in range(groups) for _ in range(at_once)]
    (directory / "collectives.csv").write_text("\n".join(map(",".join, [header, *rows])) + "\n")
    written = [text for text in draw("collectives", directory).axes[0].texts if text.get_text()]
    assert len(written) == (groups * at_once if size else 0)
    assert all(text.get_fontsize() == pytest.approx(size) for text in written)


def test_every_kind_of_collective_has_a_marker_of_its_own():
    assert len(set(bandwidths.MARKERS)) == len(bandwidths.MARKERS) >= 10  # 8 operations, and groups


def test_groups_beyond_what_fits_are_chosen_from_each_kind():
    import pandas as pd
    groups = [f"TP{i}" for i in range(100)] + [f"DP{i}" for i in range(100)]
    table = pd.DataFrame({"group": groups, "kind": [g[:2] for g in groups]})
    shown = timelines.groups_to_show(table)
    assert len(shown) == style.MOST_ROWS
    assert shown[0] == "DP0" and shown[1] == "DP1" and f"TP{style.MOST_ROWS // 2 - 1}" in shown


def test_intervals_too_near_to_be_seen_apart_are_joined():
    assert style.merge_spans([10, 0, 30], [12, 9, 31], 2) == [(0, 12), (30, 1)]


def test_long_runs_are_drawn_with_as_many_points_as_a_picture_shows(directory):
    count = 40000
    (directory / "queue.txt").write_text(FILES["queue.txt"].splitlines()[0] + "\n" + "".join(
        f"{1000 * t}, 5, 1, 3, {t % 1000 + 1}, {t % 1000 + 1}\n" for t in range(count)))
    (directory / "fct.txt").write_text("".join(f"0b000001 0b000101 1 {t} 1000 0 {1000 + t} 500\n"
                                               for t in range(count)))
    (directory / "pfc.txt").write_text("".join(f"{1000 * t} 5 1 2 1\n{1000 * t + 400} 5 1 2 0\n" for t in range(count)))
    times, ports, grid = queues.lengths(open_run(directory))
    assert grid.shape[1] <= style.MOST_POINTS and grid.max() == 1000, "the largest of each few"
    x, y = draw("fct", directory).axes[0].lines[0].get_data()
    assert len(x) == style.MOST_POINTS and x[0] == 1 and y[-1] == 100
    above, below = draw("pfc", directory).axes
    assert sum(len(c.get_paths()) for c in below.collections) <= style.MOST_POINTS
    vertices = above.collections[0].get_paths()[0].vertices
    assert len(vertices) <= 5 * style.MOST_POINTS and vertices[:, 1].max() == 1


def test_the_breakdown_divides_the_total_and_leaves_out_what_took_no_time(directory):
    axes, = draw("breakdown", directory).axes
    # Of 400 us: computation 260, TP 40, DP 100.
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 260), (260, 40), (300, 100)]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "computation\n260 µs, 65.00%", "exposed TP\n40 µs, 10.00%", "exposed DP\n100 µs, 25.00%"]
    assert [text.get_text() for text in axes.texts] == ["65%", "10%", "25%"]


def test_runs_whose_files_have_a_prefix_are_named_by_it(directory):
    for prefix in ("fast-", "slow-"):
        (directory / f"{prefix}EndToEnd.csv").write_text(run_directory.END_TO_END)
    result = plot("breakdown", directory / "fast-EndToEnd.csv", "-o", directory / "out", "--format", "svg")
    assert result.stdout.split() == [f"{directory}/out/fast-breakdown.svg"], result.stderr
    axes, = draw("breakdown", directory / "fast-EndToEnd.csv", directory / "slow-EndToEnd.csv").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fast\n400 µs", "slow\n400 µs"]


def test_every_kind_writes_png_and_svg_of_a_real_run(tmp_path):
    program = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
    made = run_script([ROOT / "topologies/gen_Topo_Template.py", *"-topo AlibabaHPN --dp -g 32 -asn 16 -psn 4 -bw "
                       "100Gbps".split()], cwd=tmp_path, check=True)
    (tmp_path / "w.txt").write_text("1 ALLTOALL 16777216 EP\n1 ALLREDUCE 1048576 TP\n")
    subprocess.run([program, "-w", tmp_path / "w.txt", "-n", tmp_path / made.stdout.split()[-1], "-c",
                    ROOT / "conf/SimAI.conf", "-o", tmp_path / "run", "--ep", "4", "--tp", "8", "-q",
                    "--timeline-ranks", "4", "--set", "QLEN_MON_INTERVAL=5", "--set", "QP_MON_INTERVAL=5"], check=True)
    result = plot("all", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    skipped = [line for line in result.stderr.splitlines() if "nothing to draw" in line]
    assert all(re.search(": (pfc|latencies|phases|trims|replays|reordering): ", line) for line in skipped), skipped
    files = result.stdout.split()
    assert len(files) == 2 * (len(KINDS) - len(skipped))
    for file in files:
        head = pathlib.Path(file).read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if file.endswith("png") else b"<?xml" in head
    again = plot("fct", tmp_path / "run", "-o", tmp_path / "again", "--format", "svg")
    assert (tmp_path / "again/fct.svg").read_bytes() == (tmp_path / "run/plots/fct.svg").read_bytes(), again.stderr


def test_a_run_without_packets_has_no_queues_to_draw(directory):
    record = json.loads(FILES["run.json"])
    (directory / "run.json").write_text(json.dumps(record | {"network": "flow"}))
    for kind in ("queues", "heat", "pfc", "rates"):
        with pytest.raises(ResultsError, match="--network flow simulates no packets"):
            draw(kind, directory)


def test_two_runs_are_compared_in_one_picture(directory, tmp_path):
    (tmp_path / "two").mkdir()
    for file in directory.iterdir():
        (tmp_path / "two" / file.name).write_text(file.read_text())
    result = plot("all", directory, tmp_path / "two", "-o", tmp_path / "out", "--format", "svg", "--theme", "dark")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"fct.svg", "busbw.svg", "heat-one.svg", "heat-two.svg"} <= names, result.stderr


def test_a_missing_and_a_cut_file_are_named_and_the_rest_is_drawn(directory):
    (directory / "queue.txt").unlink()
    (directory / "fct.txt").write_text(FILES["fct.txt"][:-20])
    result = plot("all", directory, "--format", "svg")
    assert result.returncode == 1
    assert f"{directory}/queue.txt: the file is missing" in result.stderr
    assert f"{directory}/fct.txt:4: the file is cut off" in result.stderr
    drawn = {pathlib.Path(line).stem for line in result.stdout.split()}
    nothing = {"latencies", "phases", "trims", "replays"}  # no requests are served; no packets cut off or sent again
    assert drawn == set(KINDS) - {"queues", "heat"} - nothing


# Two dollars would begin a formula, "_" hides from a legend; no format takes the control character or the half of a
# pair, no font the last.
HOSTILE = "_a$x^{\\y$<&>\n\x01\udcff\U00020000"
SHOWN = "_a$x^{\\y$<&>\\n\\x01\\udcff\U00020000"
SERVES = {"requests.1.csv": test_damaged_results.SERVED, "inference.csv": test_damaged_results.INFERENCE}


def texts_of(svg):
    return [text for element in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
            if (text := "".join(element.itertext()))]


@pytest.fixture
def noise_is_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.usefixtures("noise_is_an_error")
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_is_text_in_every_kind_of_picture(directory, tmp_path, kind):
    for name, text in SERVES.items():
        (directory / name).write_text(text)
    for column in ("trims", "replays"):
        count_on_a_link(directory, column, 1)
    names = {"TP0": HOSTILE.replace("\n", "") + "0", "AllGather": HOSTILE.replace("\n", "")}
    (directory / "collectives.csv").write_text(re.sub("TP0|AllGather", lambda match: names[match[0]],
                                                      FILES["collectives.csv"]), errors="surrogateescape")
    (directory / "timeline.json").write_text(FILES["timeline.json"].replace('"AllReduce"', json.dumps(HOSTILE)))
    hostile = tmp_path / os.fsdecode(os.fsencode(HOSTILE))
    directory.rename(hostile)
    runs = open_runs([hostile])
    with style.theme(), matplotlib.rc_context({"svg.fonttype": "none"}):
        style.save(KINDS[kind].draw(runs), tmp_path / "picture.svg")
    texts = texts_of((tmp_path / "picture.svg").read_bytes())
    xml.etree.ElementTree.fromstring(figures._markup(kind, runs, "f0-", SHOWN).replace("xlink:", ""))  # report.py's
    assert any(SHOWN[:17] in text for text in texts) or kind in ("slowdown", "busbw",
        "latencies"), texts  # of a single run, they name none
    if kind in ("collectives", "busbw", "ranks"):  # operation, group or stream
        assert sum("_a$x^{\\y$<&>" in text for text in texts) >= 2, texts
    assert not any("mathdefault" in text for text in texts), texts


@pytest.mark.usefixtures("noise_is_an_error")
def test_names_are_text_in_the_pictures_of_other_commands(tmp_path):
    """The topology's name, a plan's title, and layers beside each other."""
    from clustersim.results.plots import plan_picture
    from clustersim.topology.layers import draw as topology_drawing
    from clustersim.topology.reader import read
    from clustersim_lab.comparisons import compare_backends, offload
    path = tmp_path / os.fsdecode(os.fsencode(HOSTILE))
    path.write_text(TOPOLOGY.replace("6 2 1 1", "6 4 1 1"))
    shares = {part: 0.125 for part in ("computation", "TP", "DP", "DP_EP", "EP", "CP", "PP", "bubble")}
    numbers = ("rank", "tp", "pp", "vpp", "dp", "ep", "etp", "cp", "zero", "copies", "micro_batch")
    row = {**{key: 1 for key in numbers}, **shares, "recompute": "none", "time_ms": 3.0}
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        topology_drawing.draw(read(str(path)), str(tmp_path / "topology"))
        plan_picture.write([row], style.shorten(HOSTILE), tmp_path)
        compare_backends.draw([HOSTILE], {"a": [1.0], "b": [200.0]}, tmp_path / "compared.svg")
        offload.draw({size: {way.name: 30.0 for way in offload.WAYS} for size in (1024, offload.STEP)},
                     tmp_path / "offload.svg")
    for name in ("topology", "plans", "compared", "offload"):
        texts = texts_of((tmp_path / f"{name}.svg").read_bytes())
        assert name == "offload" or any(SHOWN[:13] in text for text in texts), (name, texts)
        assert not any("mathdefault" in text for text in texts), texts


def test_every_figure_is_made_where_names_are_text():
    made = [f"{path.name}: {line.strip()}" for path in (ROOT / "python").rglob("*.py")
            for line in path.read_text().splitlines()
            if re.search(r"= Figure\(|import.*pyplot|pyplot\.", line)]
    assert len(made) == 2 and {each.partition(":")[0] for each in made} == {"style.py", "draw.py"}, made


def _zeros(text):
    head, *lines = text.splitlines(True)
    return head + "".join(re.sub(r"(?<![\w.])\d+(\.\d+)?(?![\w.])", "0", line) for line in lines)


NOT_RANKS = "[\n" + "".join(json.dumps({"ph": "X", "pid": 0, "tid": 9, "name": "to 3", "cat": "flow", "ts": 3,
                                        "dur": 2}) + end for end in (",\n", "\n]\n"))
PARTS = {"empty": lambda text: "", "head": lambda text: text.splitlines(True)[0],
         "first": lambda text: "".join(text.splitlines(True)[:2]),
         "zeros": _zeros, "half": lambda text: text[:len(text) // 2], "gone": None}
DRAWN_FROM = {"fct.txt": ["fct", "slowdown"], "pfc.txt": ["pfc"], "queue.txt": ["queues", "heat"],
              "rate.txt": ["rates"], "cnp.txt": ["rates"], "reordering.csv": ["reordering"],
              "collectives.csv": ["collectives", "busbw"], "links.csv": ["links", "trims", "replays"],
              "EndToEnd.csv": ["breakdown"], "timeline.json": ["ranks"],
              "requests.1.csv": ["latencies", "phases"], "topology": ["links"], "run.json": ["links", "queues"]}


def test_the_matrix_has_every_kind():
    assert {kind for kinds in DRAWN_FROM.values() for kind in kinds} == set(KINDS)


@pytest.mark.usefixtures("noise_is_an_error")
@pytest.mark.parametrize("name", DRAWN_FROM)
def test_of_a_part_of_a_file_there_is_a_picture_or_a_line(directory, name):
    for each, text in SERVES.items():
        (directory / each).write_text(text)
    whole = (directory / name).read_text()
    parts = {part: of and of(whole) for part, of in PARTS.items()} | ({"not ranks": NOT_RANKS}
        if name == "timeline.json" else {})
    for part, text in parts.items():
        if text is None:
            (directory / name).unlink()
        else:
            (directory / name).write_text(text)
        for kind in DRAWN_FROM[name]:
            try:
                draw(kind, directory).draw_without_rendering()
            except ResultsError as error:
                assert str(error) and "\n" not in str(error), (part, kind)


@pytest.mark.parametrize("arguments, message", [
    (["all", "gone"], "gone: no such directory; expected the output directory of a run"),
    (["pie", "gone"], 'KIND is "pie"; expected '),
    (["fct", "gone", "--format", "gif"], "--format has 'gif'; expected png, svg or pdf"),
])
def test_wrong_arguments_are_refused(arguments, message):
    result = plot(*arguments)
    assert result.returncode == 2 and message in result.stderr


def test_measurements_with_other_columns_are_refused(directory):
    (directory / "own.csv").write_text("gpu,busbw\nA100,3\n")
    with pytest.raises(ResultsError, match="expected the columns source, gpu_type"):
        draw("busbw", directory, published=directory / "own.csv")


@pytest.mark.parametrize("ns, text", [(999, "999 ns"), (2920e3, "2.92 ms"), (5e9, "5 s"), (1500, "1.5 µs"),
                                      (1234e9, "1230 s"), (999.9e3, "1000 µs")])
def test_times_in_words(ns, text):
    assert style.time_text(ns) == text


@pytest.mark.parametrize("size, text", [(1 << 20, "1 MiB"), (3 << 30, "3 GiB"), (1500, "1.5 KB"), (64, "64 B"),
                                        (2_000_000, "2 MB"), (4_096_000, "4000 KiB"), (346_202_112, "330 MiB"),
                                        (1_048_577, "1 MiB"), (1023 * 1024 * 1024 + 1, "1020 MiB")])
def test_sizes_in_words(size, text):
    assert style.size_text(size) == text


@pytest.mark.parametrize("sizes, texts", [
    ([324, 2000, 1_048_576, 30_000_000], ["324 B", "2 KB", "1.05 MB", "30 MB"]),
    ([1024, 65_536, 346_202_113], ["1 KiB", "64 KiB", "330 MiB"]),
    ([100, 500], ["100 B", "500 B"])])
def test_the_sizes_of_a_picture_have_one_family_of_units(sizes, texts):
    assert style.size_texts(sizes) == texts


def test_a_figure_is_drawn_once_for_each_format(tmp_path, monkeypatch):
    """And is laid out once for all, so that it looks alike in each."""
    figure, axes = style.new_figure()
    axes.plot([1, 2])
    drawn, draw, engine = [], figure.draw, figure.get_layout_engine()
    laid, execute = [], engine.execute
    monkeypatch.setattr(figure, "draw", lambda renderer: (drawn.append(1), draw(renderer)))
    monkeypatch.setattr(engine, "execute", lambda given: (laid.append(1), execute(given)))
    for name in ("a.png", "a.svg"):
        style.save(figure, tmp_path / name)
    assert len(drawn) == 2 and len(laid) == 1


def test_a_colour_means_one_thing_in_every_picture_that_divides_a_time(directory):
    names = [*style.OTHERS, *(title.removeprefix("exposed ") for _, title, _ in breakdown_of_time.PARTS)]
    assert len({style.colour_of(name) for name in names}) == len(names)
    computation = style.colour(next(place for _, title, place in breakdown_of_time.PARTS if title == "computation"))
    assert {style.colour_of(name) for name in ("computation", "compute", "kernels")} == {computation}
    assert {name for _, name in serving.PHASES} | set(SHARES) - {"kernels"} <= set(names)
    for kind in ("collectives", "ranks"):
        handles, labels = draw(kind, directory).axes[0].get_legend_handles_labels()
        drawn = [matplotlib.colors.to_hex(handle.get_facecolor()[0]).upper() for handle in handles]
        assert labels and drawn == [style.colour_of(text) for text in labels], kind
