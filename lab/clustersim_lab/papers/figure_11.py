# SPDX-License-Identifier: GPL-2.0-only
"""HPCC's large-scale comparison (SIGCOMM 2019, figure 11): its table and plot.

320 hosts on the fat tree of HPCC's artifact run WebSearch and FB_Hadoop traffic, at 50% load, and at 30% load with
60-to-1 incast of 2% of the capacity, under six schemes with the parameters of the artifact. The result is the slowdown
of flows (completion time divided by that of the same flow alone) by flow size: the background flows sorted by size, in
buckets of equal number.
"""
import concurrent.futures
import csv
import pathlib
import subprocess
from collections.abc import Iterator, Sequence

from clustersim.commands import hpcc_traffic
from clustersim.errors import InputError
from clustersim.whole_file import whole_file, write_text
from clustersim_lab.hpcc.against_hpcc import percentile
from clustersim_lab.papers.runs import Bench

DURATION_S = 0.005  # in which flows start
BUCKETS = 20  # of flow sizes
WORKLOADS = {"FB_Hadoop": "FbHdp_distribution.txt", "WebSearch": "WebSearch_distribution.txt"}
SCENARIOS = {"50% load": (0.5, 0.0), "30% load + incast": (0.3, 0.02)}

COMMON = """PACKET_PAYLOAD_SIZE 1000
BUFFER_SIZE 32
USE_DYNAMIC_PFC_THRESHOLD 1
L2_ACK_INTERVAL 1
RATE_BOUND 1
GLOBAL_T 1
MON_END 0
"""
RED = """ENABLE_QCN 1
KMIN_MAP 2 100Gbps 400 400Gbps 1600
KMAX_MAP 2 100Gbps 1600 400Gbps 6400
PMAX_MAP 2 100Gbps 0.2 400Gbps 0.2
"""
DCQCN = RED + """CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
"""
TIMELY = """ENABLE_QCN 0
CC_MODE 7
RATE_AI 100Mb/s
RATE_HAI 500Mb/s
MIN_RATE 1000Mb/s
ACK_HIGH_PRIO 1
"""
SCHEMES = {
    "HPCC": "ENABLE_QCN 0\nCC_MODE 3\nHAS_WIN 1\nVAR_WIN 1\nU_TARGET 0.95\nMI_THRESH 0\n"
            "MULTI_RATE 0\nFAST_REACT 1\nRATE_AI 40Mb/s\nMIN_RATE 1000Mb/s\n",
    # ACK_HIGH_PRIO as in the artifact, where it spares ACKs the pauses of their NIC.
    "DCQCN": DCQCN + "HAS_WIN 0\nACK_HIGH_PRIO 1\n",
    "DCQCN+win": DCQCN + "HAS_WIN 1\nVAR_WIN 1\n",
    "TIMELY": TIMELY + "HAS_WIN 0\n",
    "TIMELY+win": TIMELY + "HAS_WIN 1\nVAR_WIN 1\n",
    "DCTCP": "ENABLE_QCN 1\nCC_MODE 8\nHAS_WIN 1\nVAR_WIN 1\nDCTCP_GAIN 0.0625\n"
             "DCTCP_RATE_AI 615Mb/s\nMIN_RATE 1000Mb/s\n"
             "KMIN_MAP 2 100Gbps 300 400Gbps 1200\nKMAX_MAP 2 100Gbps 300 400Gbps 1200\n"
             "PMAX_MAP 2 100Gbps 1 400Gbps 1\n",
}
Bucket = tuple[int, int, int, float, float, float]  # number, flows, largest size, three percentiles of the slowdown
Row = tuple[str, str, str, int, int, int, float, float, float]  # of COLUMNS: a run's case and a Bucket
Pauses = tuple[str, str, str, int]  # a run's case, and how often ports were paused
COLUMNS = ("workload", "scenario", "scheme", "bucket", "flows", "largest_bytes", "p50", "p95", "p99")


def file_name(*words: str) -> str:
    return "-".join("".join(c if c.isalnum() else "_" for c in word).strip("_") for word in words)


def slowdowns(fct_path: pathlib.Path) -> list[tuple[int, float]]:
    """@return (bytes, slowdown) of each background flow of an fct.txt"""
    flows = []
    with open(fct_path, encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if int(fields[3]) == hpcc_traffic.BACKGROUND_PORT:
                flows.append((int(fields[4]), max(1.0, int(fields[6]) / int(fields[7]))))
    return flows


def bucket_rows(flows: list[tuple[int, float]], buckets: int) -> Iterator[Bucket]:
    """Yields (bucket, flows, largest size, median, 95th, 99th percentile of slowdown)."""
    flows = sorted(flows)
    for bucket in range(buckets):
        part = flows[len(flows) * bucket // buckets:len(flows) * (bucket + 1) // buckets]
        if part:
            values = [slowdown for _, slowdown in part]
            median, high, highest = (round(percentile(values, share), 3) for share in (50, 95, 99))
            yield bucket + 1, len(part), part[-1][0], median, high, highest


def run_case(bench: Bench, workload: str, scenario: str, scheme: str) -> tuple[list[Row], Pauses]:
    """Runs one simulation. @return its rows, and its case with the number of pauses"""
    name = file_name(workload, scenario, scheme)
    conf = bench.output / f"{name}.conf"
    write_text(conf, COMMON + SCHEMES[scheme])
    flows = bench.output / f"{file_name(workload, scenario)}.flows"
    results = bench.output / name
    subprocess.run([bench.program, "-c", conf, "-n", bench.data / "fat.txt", "-f", flows,
                    "-o", results], check=True, stdout=subprocess.PIPE)
    with open(results / "pfc.txt", encoding="utf-8") as file:
        pauses = sum(line.split()[4] == "1" for line in file)
    rows = [(workload, scenario, scheme, *row)
            for row in bucket_rows(slowdowns(results / "fct.txt"), BUCKETS)]
    return rows, (workload, scenario, scheme, pauses)


def write_flows(bench: Bench, workload: str, scenario: str) -> None:
    """Writes the flow file of a workload and a scenario."""
    load, incast_load = SCENARIOS[scenario]
    status = hpcc_traffic.main(["--topology", str(bench.data / "fat.txt"),
                                "--sizes", str(bench.data / WORKLOADS[workload]),
                                "--load", str(load), "--incast-load", str(incast_load),
                                "--duration", str(DURATION_S),
                                "-o", str(bench.output / f"{file_name(workload, scenario)}.flows")])
    if status:
        raise InputError(f"{bench.data}: hpcc_traffic.py ended with status {status}; expected its flows")


def write_csv(path: pathlib.Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def overall_rows(rows: list[Row], pauses: list[Pauses]) -> list[tuple[str, str, str, str, str, str, int]]:
    """@return a row per run: the worst bucket's median, the worst 95th percentile of the smallest and
    of the largest fifth of flows, and the pauses"""
    counts = {row[:3]: row[3] for row in pauses}
    table = []
    for key, count in counts.items():
        mine = [row for row in rows if row[:3] == key]
        fifth = max(1, len(mine) // 5)
        small = max(row[7] for row in mine[:fifth])
        large = max(row[7] for row in mine[-fifth:])
        table.append((*key, f"{max(row[6] for row in mine):.2f}", f"{small:.2f}", f"{large:.2f}", count))
    return table


# A colour for each algorithm; dashes for its form with a window.
LINES = {"HPCC": (0, "-"), "DCQCN": (1, "-"), "DCQCN+win": (1, "--"), "TIMELY": (2, "-"),
         "TIMELY+win": (2, "--"), "DCTCP": (3, "-")}


def plot(path: pathlib.Path, rows: list[Row]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter
    from clustersim.results.plots import style
    with style.theme():
        figure, axes = style.new_figure(11.5, 8, rows=len(SCENARIOS), columns=len(WORKLOADS), squeeze=False)
        for i, scenario in enumerate(SCENARIOS):
            for j, workload in enumerate(WORKLOADS):
                axis = axes[i][j]
                for scheme, (colour, dashes) in LINES.items():
                    mine = [row for row in rows if row[:3] == (workload, scenario, scheme)]
                    axis.plot([row[3] for row in mine], [row[7] for row in mine], marker=".", label=scheme,
                              color=style.colour(colour), linestyle=dashes, linewidth=1.6)
                    if mine and scheme == "HPCC":
                        ticks = mine[1::3]
                        axis.set_xticks([row[3] for row in ticks], [size_text(row[5]) for row in ticks])
                axis.set_yscale("log")
                axis.set_ylim(bottom=1)
                axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.yaxis.set_major_formatter("{x:g}")
                axis.yaxis.set_minor_formatter(NullFormatter())
                axis.set_title(f"{workload}, {scenario}")
                axis.set_xlabel("flow size (bytes), at equal numbers of flows")
                axis.set_ylabel("slowdown, 95th percentile")
        style.legend(axes[0][-1], len(LINES), title="scheme")
        style.save(figure, path)


def size_text(size: int) -> str:
    """@return bytes with a decimal prefix"""
    for unit, name in ((1e6, "M"), (1e3, "K")):
        if size >= unit:
            return f"{size / unit:.3g}{name}"
    return str(size)


def reproduce(bench: Bench, jobs: int) -> None:
    """Runs all cases, so many at the same time, and writes hpcc-*.csv and the plot."""
    bench.output.mkdir(parents=True, exist_ok=True)
    cases = [(workload, scenario, scheme) for workload in WORKLOADS for scenario in SCENARIOS for scheme in SCHEMES]
    for workload, scenario in dict.fromkeys(case[:2] for case in cases):
        write_flows(bench, workload, scenario)
    rows, pauses = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case_rows, case_pauses in pool.map(lambda case: run_case(bench, *case), cases):
            rows += case_rows
            pauses.append(case_pauses)
            print(*case_pauses, "pauses", flush=True)
    write_csv(bench.output / "hpcc-fct-slowdown.csv", COLUMNS, rows)
    write_csv(bench.output / "hpcc-summary.csv",
              ("workload", "scenario", "scheme", "largest median", "95th, small flows",
               "95th, large flows", "PFC pauses"), overall_rows(rows, pauses))
    plot(bench.output / "hpcc-fct-slowdown.svg", rows)
