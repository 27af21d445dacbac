# SPDX-License-Identifier: GPL-2.0-only
"""scripts/hpcc_traffic.py and the arithmetic of figure 11."""
import collections
import pathlib
import random
import sys

import pytest
from script_process import run_script

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.path[:0] = [str(SCRIPTS.parent / "python"), str(SCRIPTS.parent / "lab")]

from clustersim.commands import hpcc_traffic  # noqa: E402
from clustersim_lab.papers import figure_11  # noqa: E402

HOSTS = 80
TOPOLOGY = (f"{HOSTS + 1} 1 {HOSTS}\n{HOSTS}\n"
            + "".join(f"{host} {HOSTS} 100Gbps 1us 0\n" for host in range(HOSTS)))
SIZES = "0 0\n1000 50\n9000 100\n"  # mean: half of them 500 on average, half of them 5000


@pytest.fixture
def files(tmp_path):
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    (tmp_path / "sizes.txt").write_text(SIZES)
    return tmp_path


def generate(files, *flags):
    result = run_script([SCRIPTS / "hpcc_traffic.py", "--topology", files / "topology.txt", "--sizes",
                         files / "sizes.txt", *flags])
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    flows = [line.split() for line in lines[1:]]
    assert int(lines[0]) == len(flows)
    return flows


def test_background_offers_the_load_asked_for(files):
    flows = generate(files, "--load", "0.5", "--duration", "0.0005")
    bits = sum(int(flow[4]) for flow in flows) * 8
    # 0.5 x 80 x 100 Gb/s x 0.5 ms = 2 Gb in about 90,000 flows: a few tenths of a per cent of noise
    assert bits == pytest.approx(0.5 * HOSTS * 100e9 * 0.0005, rel=0.02)
    assert all(flow[0] != flow[1] for flow in flows)
    starts = [float(flow[5]) for flow in flows]
    assert starts == sorted(starts) and starts[-1] < 0.0005


def test_sources_and_destinations_are_chosen_evenly(files):
    flows = generate(files, "--load", "0.5", "--duration", "0.0005")
    for column in (0, 1):
        counts = collections.Counter(flow[column] for flow in flows)
        assert len(counts) == HOSTS
        mean = len(flows) / HOSTS
        assert max(abs(count - mean) for count in counts.values()) < 5 * mean ** 0.5


def test_sizes_follow_the_distribution():
    sizes = hpcc_traffic.SizeDistribution.__new__(hpcc_traffic.SizeDistribution)
    sizes.points = [(0, 0), (1000, 50), (9000, 100)]
    assert sizes.mean() == 0.5 * 500 + 0.5 * 5000
    assert [sizes.draw(u) for u in (0.0, 0.25, 0.5, 0.75, 1.0)] == [1, 500, 1000, 5000, 9000]
    source = random.Random(1)
    draws = [sizes.draw(source.random()) for _ in range(20000)]
    assert sum(draws) / len(draws) == pytest.approx(sizes.mean(), rel=0.03)


def test_incast_senders_start_together_and_take_their_share(files):
    flows = generate(files, "--load", "0", "--incast-load", "0.02", "--duration", "0.05",
                     "--incast-senders", "60", "--incast-bytes", "500000")
    events = collections.defaultdict(list)
    for flow in flows:
        events[flow[5]].append(flow)
    for event in events.values():
        assert len(event) == 60 and len({flow[1] for flow in event}) == 1
        assert len({flow[0] for flow in event}) == 60 and event[0][1] not in {f[0] for f in event}
        assert {(flow[3], flow[4]) for flow in event} == {("200", "500000")}
    # 0.02 x 80 x 100 Gb/s / (60 x 4 Mb) = 667 events per second; 33 in 50 ms
    assert len(events) == pytest.approx(33, abs=5 * 33 ** 0.5)


def test_the_seed_decides(files):
    flags = ("--load", "0.3", "--duration", "0.00002")
    assert generate(files, *flags) == generate(files, *flags)
    assert generate(files, *flags) != generate(files, *flags, "--seed", "2")


def test_a_host_sends_in_proportion_to_its_links(files):
    (files / "topology.txt").write_text("3 1 3\n2\n0 2 100Gbps 1us 0\n1 2 300Gbps 1us 0\n0 1 1Gbps 1us 0\n")
    assert hpcc_traffic.hosts_of(files / "topology.txt") == {0: 101e9, 1: 301e9}


@pytest.mark.parametrize("change, expected", [
    (("--sizes", "none.txt"), "none.txt: No such file"),
    (("--incast-load", "0.1", "--incast-senders", "80"), "expected fewer than the 80 hosts"),
    (("--load", "2"), "--load is 2; expected 0 to 1"),
    (("--priority", "0"), "--priority is 0; expected 1 to 7"),
    (("--topology", "words.txt"), "words.txt:1: "),
    (("--sizes", "nan.txt"), 'nan.txt:2: "1000 nan" is no point of a distribution; expected bytes'),
    (("--sizes", "half.txt"), "half.txt: the distribution is not whole; expected points from 0 to 100"),
    (("--output", "."), ".: is a directory; expected a flow file"),
])
def test_mistakes_end_with_status_2(files, change, expected, monkeypatch):
    monkeypatch.chdir(files)
    for name, text in (("words", "a b c\n"), ("nan", "0 0\n1000 nan\n2000 100\n"), ("half", "0 0\n1000 50\n")):
        (files / f"{name}.txt").write_text(text)
    result = run_script([SCRIPTS / "hpcc_traffic.py", "--topology", files / "topology.txt", "--sizes",
                         files / "sizes.txt", "--duration", "0.001", *change])
    assert (result.returncode, result.stderr.count("\n")) == (2, 1) and result.stderr.startswith("hpcc_traffic.py: ")
    assert expected in result.stderr


def test_acks_are_spared_pauses_where_the_artifact_spares_them():
    # HPCC's simulation/run.py: ack_prio is 1 with dcqcn, timely and timely_vwin, and 0 with hp, dcqcn_vwin and dctcp.
    first = {scheme for scheme, conf in figure_11.SCHEMES.items() if "ACK_HIGH_PRIO 1\n" in conf}
    assert first == {"DCQCN", "TIMELY", "TIMELY+win"}


def test_buckets_hold_equal_numbers_of_flows_by_size(tmp_path):
    path = tmp_path / "fct.txt"
    path.write_text("".join(f"0b000001 0b000101 1 100 {size} 0 {fct} 100\n"
                            for size, fct in ((10, 150), (20, 90), (30, 300), (40, 400)))
                    + "0b000001 0b000101 1 200 500000 0 99999 100\n")
    flows = figure_11.slowdowns(path)
    assert flows == [(10, 1.5), (20, 1.0), (30, 3.0), (40, 4.0)], "incast left out, at least 1"
    assert list(figure_11.bucket_rows(flows, 2)) == [(1, 2, 20, 1.0, 1.5, 1.5),
                                                          (2, 2, 40, 3.0, 4.0, 4.0)]


def test_percentiles_are_values_that_occurred():
    values = list(range(1, 101))
    assert [figure_11.percentile(values, share) for share in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert figure_11.percentile([7], 50) == 7
