# SPDX-License-Identifier: GPL-2.0-only
"""Choices by tuners' tables: NCCL's example plug-in and those of kinds of networks, against small implementations of
both."""
import itertools
import math
import os
import pathlib
import random
import re
import subprocess

import pytest
import yaml
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
KINDS = yaml.safe_load((ROOT / "contrib/collectives/model/nccl/network-kinds.yaml").read_text(encoding="utf-8"))
CHOICE = re.compile(r"^# .*: (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{0\.\.(\d+)\}.*?(?:, chosen "
                    r"by (.*?))?(?: \(\d+ of \d+\))?$", re.M)
SPELLED = {"RING": "ring", "TREE": "tree", "NVLS_TREE": "nvls_tree", "LL": "ll", "LL128": "ll128", "SIMPLE": "simple"}


def clean(**settings):
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("AS_", "NCCL_", "OFI_"))} | settings


def topology(path, servers, nics=1):
    gpus = 8 * servers
    first = gpus + servers
    links = [f"{gpu} {gpus + gpu // 8} 3600Gbps 0.000025ms 0" for gpu in range(gpus)]
    links += [f"{gpu} {first + nic} {400 // nics}Gbps 0.0005ms 0" for gpu in range(gpus) for nic in range(nics)]
    path.write_text(f"{first + nics} 8 {servers} {nics} {len(links)} H100\n"
                    f"{' '.join(map(str, range(gpus, first + nics)))}\n"
                    + "\n".join(links) + "\n", encoding="utf-8")
    return path


def choices(tmp_path, servers, least, most, test="all_reduce_perf", nics=1, **settings):
    """@return by size, the algorithm, the protocol, the channels and who chose"""
    result = subprocess.run([PROGRAMS / "collective-perf", test, "-b", str(least), "-e", str(most), "-f", "4", "-n",
                             "1", "-w", "0",
                             "--network", "flow", "--network-topo",
                             topology(tmp_path / f"{servers}.topology", servers, nics)],
                            env=clean(**settings), capture_output=True, text=True, timeout=HANGS, check=False)
    assert result.returncode == 0, result.stderr
    return {int(size): (SPELLED[algorithm], SPELLED[protocol], int(last) + 1, by or "")
            for size, algorithm, protocol, last, by in CHOICE.findall(result.stdout)}


def expected_row(rows, collective, size, nodes, ranks, available):
    """@return the number of the first row of a CSV table that fits, from 1; None if none does"""
    for number, row in enumerate(rows, 1):
        op, least, most, algorithm, protocol, _, *conditions = row
        values = (nodes, ranks, 1, 0)  # one operation; buffers that are not registered
        if (op == collective and least <= size <= most and (algorithm, protocol) in available
                and all(wanted in (-1, value) for wanted, value in zip(conditions, values))):
            return number
    return None


@pytest.mark.parametrize("seed", range(6))
def test_a_file_decides_as_a_reimplementation_of_nccls_example_plug_in_does(tmp_path, seed):
    draw = random.Random(seed)
    servers = draw.choice([1, 2, 3])
    available = set(itertools.product(["ring", "tree"], ["ll", "ll128", "simple"]))
    available |= {("nvls_tree" if servers > 1 else "nvls", "simple")}
    rows = []
    for _ in range(draw.randrange(3, 12)):
        low, high = sorted(draw.choice([0, 1024, 4096, 65536, 262144, 1 << 32]) for _ in range(2))
        conditions = [draw.choice([-1, -1, value, other]) for value, other in
                      ((servers, 5), (8 * servers, 40), (1, 2), (0, 1))][:draw.choice([2, 3, 4])]
        rows.append([draw.choice(["allreduce", "allreduce", "allgather"]), low, high,
                     draw.choice(["ring", "tree", "nvls_tree", "nvls", "pat"]), draw.choice(["ll", "ll128", "simple"]),
                     draw.choice([-1, 1, 3, 64]), *conditions])
    file = tmp_path / "tuner.conf"
    file.write_text("# rows by a test\n" + "".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    found = choices(tmp_path, servers, 1024, 1 << 20, NCCL_TUNER_CONFIG_FILE=str(file))
    alone = choices(tmp_path, servers, 1024, 1 << 20)
    for size, (algorithm, protocol, channels, by) in found.items():
        number = expected_row(rows, "allreduce", size, servers, 8 * servers, available)
        if number is None:
            assert (algorithm, protocol, channels, by) == alone[size], (rows, size)
            continue
        _, _, _, *wanted, most = rows[number - 1][:6]
        assert ([algorithm, protocol], by) == (wanted, f"{file}:{number + 1}"), (rows, size)
        assert most == -1 or channels <= most


def inside(region, bytes_, ranks, logarithmic):
    """Casts a ray to the right. @return whether a polygon has a point inside, or on a corner"""
    def place(corner):
        x, y = corner
        return (math.log2(max(x, 1e-6)), math.log2(y)) if logarithmic else (float(x), float(y))
    corners, (x, y) = [place(corner) for corner in region], place((bytes_, ranks))
    if (x, y) in corners:
        return True
    crossed = False
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
        if y0 == y1 == y and min(x0, x1) <= x <= max(x0, x1):
            return True
        if (y0 > y) != (y1 > y):
            at = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
            if at == x:
                return True
            crossed ^= x < at
    return crossed


@pytest.mark.parametrize("kind", ["EFA-p5", "EFA-p5-1.19", "EFA-p5en", "EFA-p6-b200", "EFA-p6-b300"])
@pytest.mark.parametrize("servers", [2, 3, 5])
def test_a_kind_of_network_decides_by_the_regions_of_its_plug_in(tmp_path, kind, servers):
    row, = (row for row in KINDS if row["name"] == kind)
    tuner = row["tuner"]
    without = ("ll",) if kind.startswith("EFA-p5") and kind != "EFA-p5en" else ()
    found = choices(tmp_path, servers, 4096, 1 << 28, nics=4, AS_NETWORK_KIND=kind)
    for size, (algorithm, protocol, _, by) in found.items():
        fits = [(number, each) for number, each in enumerate(tuner["rows"], 1)
                if servers > 2 and each["collective"] == "allreduce" and each["ranks_per_node"] == 8
                and each["protocol"] not in without
                and inside(each["region"], size, 8 * servers, tuner["scale"] == "log")]
        if not fits:
            assert by == ""
            continue
        number, first = fits[0]
        assert (algorithm, protocol, by) == (first["algorithm"], first["protocol"],
                                             f"{tuner['name']}, row {number}"), size


def test_the_plug_ins_variable_switches_its_tuner_off(tmp_path):
    chosen = {setting: choices(tmp_path, 3, 1 << 20, 1 << 20, AS_NETWORK_KIND="EFA-p5",
                               OFI_NCCL_TUNER_TYPE=setting)[1 << 20][3]
              for setting in ("Region", "internal")}
    assert chosen == {"Region": "aws-ofi-nccl 1.14 on p5, row 1", "internal": ""}


def perf(tmp_path, **settings):
    return subprocess.run([PROGRAMS / "collective-perf", "all_reduce_perf", "-b", "1M", "-e", "1M", "--network", "flow",
                           "--network-topo", topology(tmp_path / "t", 2)], env=clean(**settings), capture_output=True,
                          text=True,
                          timeout=HANGS, check=False)


@pytest.mark.parametrize("line, what", [
    ("allreduce,0,1,ring,ll,-1,-1", "tuner.conf:2: this line has 7 fields; expected collective_type,"),
    ("allreduce,0,1,rings,ll,-1,-1,-1", "tuner.conf:2: algorithm is 'rings'; expected collnet_chain, "),
    ("allreduce,0,x,ring,ll,-1,-1,-1", "tuner.conf:2: max_bytes is 'x'; expected bytes, or -1"),
])
def test_a_wrong_file_is_refused(tmp_path, line, what):
    file = tmp_path / "tuner.conf"
    file.write_text(f"# comment\n{line}\n", encoding="utf-8")
    result = perf(tmp_path, NCCL_TUNER_CONFIG_FILE=str(file))
    assert result.returncode == 2 and what in result.stderr and result.stderr.count("\n") == 1


def test_wrong_values_of_the_variables_are_refused(tmp_path):
    for name, value in (("NCCL_TUNER_CONFIG_FILE", str(tmp_path / "none")), ("OFI_NCCL_TUNER_TYPE", "Model"),
                        ("NCCL_BUFFSIZE", "4K")):
        result = perf(tmp_path, **{name: value})
        assert result.returncode == 2, name
        assert value in result.stderr and "expected" in result.stderr
