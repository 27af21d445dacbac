# SPDX-License-Identifier: GPL-2.0-only
"""gen_Topo_Template.py --describe --prices: parts counted by hand."""
import pathlib
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
sys.path.insert(0, str(ROOT / "python"))

from clustersim.topology.layers.prices import Prices, parts_of  # noqa: E402
from clustersim.topology.reader import read  # noqa: E402

PRICES = """currency: EUR
gpu: {price: 1000, watts: 500}
nic: {400Gbps: {price: 100, watts: 20}}
switch:
  - {ports: 8, rate: 400Gbps, price: 900, watts: 90}
  - {ports: 16, rate: 400Gbps, price: 700, watts: 95}
  - {ports: 64, rate: 100Gbps, price: 1, watts: 1}
transceiver: {400Gbps: {price: 10, watts: 8}}
cable: {price: 2}
"""


def run(directory, *arguments):
    return run_script([GENERATOR, *arguments], cwd=directory)


@pytest.fixture
def place(tmp_path):
    # 16 GPUs on 2 leaves with 4 uplinks each to 4 spines: 16 + 8 cables.
    run(tmp_path, "-topo", "Clos2", "-g", "16", "--nics_per_leaf", "8", "--oversubscription", "2", "-o", "clos")
    (tmp_path / "prices.yaml").write_text(PRICES)
    return tmp_path


def test_parts_are_those_of_the_links(place):
    parts = {part.name: part for part in parts_of(read(place / "clos"), Prices(place / "prices.yaml"))}
    assert {name: part.count for name, part in parts.items()} == {
        "GPU": 16, "NIC 400 Gb/s": 16, "switch, tier 1 (16 x 400Gbps)": 2, "switch, tier 2 (16 x 400Gbps)": 4,
        "transceiver 400 Gb/s": 48, "cable": 24}
    # A leaf has 12 ports. A spine has two, and 16 cost less than 8 in this list; 64 of them are too slow.
    assert sum(part.count * part.price for part in parts.values() if part.network) == \
        16 * 100 + 6 * 700 + 48 * 10 + 24 * 2
    assert sum(part.count * part.watts for part in parts.values()) == 16 * 500 + 16 * 20 + 6 * 95 + 48 * 8


def test_nvlinks_are_no_cables(place):
    # 2 servers of 8 GPUs with 2 NVSwitches each: 32 NVLinks. 16 NICs on 8 rails of one access switch, 2 uplinks each.
    run(place, "-topo", "Spectrum-X", "-g", "16", "-nsps", "2", "-psn", "2", "-o", "rails")
    cables = 16 + 8 * 2
    parts = {part.name: part.count for part in parts_of(read(place / "rails"), Prices(place / "prices.yaml"))}
    assert (parts["cable"], parts["transceiver 400 Gb/s"]) == (cables, 2 * cables) and "NVSwitch" not in parts
    # The NVSwitches of the list count; they have no NIC's, switch's or transceiver's price.
    (place / "prices.yaml").write_text(PRICES + "nvswitch: {price: 5}\n")
    parts = {part.name: part.count for part in parts_of(read(place / "rails"), Prices(place / "prices.yaml"))}
    assert parts["NVSwitch"] == 4 and sum(count for name, count in parts.items() if name.startswith("switch")) == 8 + 2


def test_several_links_between_two_switches_are_as_many_cables_and_ports(place):
    # 4 uplinks of each leaf to a single spine: 8 ports there, and 16 + 8 cables as before.
    run(place, *"-topo Clos2 -g 16 --nics_per_leaf 8 --oversubscription 2 -lpp 4 -o one".split())
    parts = {part.name: part.count for part in parts_of(read(place / "one"), Prices(place / "prices.yaml"))}
    assert parts["cable"] == 24 and parts["switch, tier 2 (16 x 400Gbps)"] == 1


def test_a_spine_with_all_its_ports_in_use_takes_the_place_of_32_with_two(place):
    """64 GPUs, 1:1: 2 leaves of 64 ports, and 32 spines of the smallest kind (32 ports) or one of 64."""
    leaves, nics, cables = 2 * 40000, 64 * 1500, 128 * (2 * 900 + 30)
    for flags, spines in (((), 32 * 22000), (("-sp", "64"), 40000), (("-psn", "2"), 2 * 22000)):
        run(place, "-topo", "Clos2", "-g", "64", *flags, "-o", "some", "--force")
        parts = parts_of(read(place / "some"), Prices(ROOT / "topologies/prices.yaml"))
        assert sum(part.count * part.price for part in parts if part.network) == leaves + nics + cables + spines


def test_a_nic_that_gpus_share_is_one_nic(place):
    # 16 GPUs, 4 to a NIC: 4 NICs, 4 cables to leaves, no switch of 5 ports. A leaf has 2 of these NICs and 8 uplinks.
    run(place, "-topo", "Clos2", "-g", "16", "--nics_per_leaf", "8", "--gpus_per_nic", "4", "-o", "shared")
    parts = {part.name: part.count for part in parts_of(read(place / "shared"), Prices(place / "prices.yaml"))}
    assert parts == {"GPU": 16, "NIC 400 Gb/s": 4, "switch, tier 2 (16 x 400Gbps)": 2,
                     "switch, tier 3 (16 x 400Gbps)": 8, "transceiver 400 Gb/s": 2 * (4 + 16), "cable": 4 + 16}
    assert "parts           10 switches, 4 NICs that GPUs share, 20 cables" in run(place, "--describe", "shared").stdout


def test_links_of_a_mesh_are_no_cables(place):
    # 2 servers of 8 GPUs with 28 links each between them; 2 leaves of 8 NICs and 8 uplinks.
    run(place, "-topo", "Clos2", "-g", "16", "--nics_per_leaf", "8", "--mesh", "-o", "mesh")
    parts = {part.name: part.count for part in parts_of(read(place / "mesh"), Prices(place / "prices.yaml"))}
    assert parts["cable"] == 16 + 16
    assert "32 cables, 64 optics" in run(place, "--describe", "mesh").stdout


def test_cables_without_a_price_are_part_of_others(place):
    (place / "prices.yaml").write_text(PRICES.replace("cable: {price: 2}\n", ""))
    assert "cable" not in {part.name for part in parts_of(read(place / "clos"), Prices(place / "prices.yaml"))}


def test_a_network_without_cables_needs_no_price_of_them(place):
    # One server whose GPUs meet in an NVSwitch alone.
    (place / "server").write_text("3 2 1 0 2 H100\n2\n0 2 2880Gbps 0.000025ms 0\n1 2 2880Gbps 0.000025ms 0\n")
    assert [part.name for part in parts_of(read(place / "server"), Prices(place / "prices.yaml"))] == ["GPU"]


def test_describe_prints_sums_and_per_gpu(place):
    result = run(place, "--describe", "clos", "--prices", "prices.yaml")
    assert result.returncode == 0, result.stderr
    network = 16 * 100 + 6 * 700 + 48 * 10 + 24 * 2
    lines = {" ".join(line.split()[:-2]): line.split()[-2:] for line in result.stdout.splitlines() if line.strip()}
    assert lines["network"][0] == f"{network:,}"
    assert lines["network, per GPU"][0] == f"{network / 16:,.0f}"
    assert lines["all"][0] == f"{network + 16000:,}"
    assert "EUR" in result.stdout


def test_the_shipped_list_prices_the_templates(place):
    for flags in ("-topo Spectrum-X -g 64", "-topo AlibabaHPN -g 64 --dp", "-topo DCN+ -g 64"):
        run(place, *flags.split(), "-o", "some", "--force")
        result = run(place, "--describe", "some", "--prices", ROOT / "topologies/prices.yaml")
        assert result.returncode == 0, f"{flags}: {result.stderr}"


@pytest.mark.parametrize("change, message", [
    (("gpu: {price: 1000", "gpu: {price: dear"), "gpu: price is 'dear'; expected a number"),
    (("nic: {400Gbps", "nic: {200Gbps"), "nic of 400Gbps has no price; expected"),
    (("ports: 16", "ports: 9"), "none has 12 ports of 400Gbps; expected"),
    (("cable:", "cables:"), ": unknown key 'cables'; expected one of"),
    (("currency: EUR", "currency: ["), "; expected a list of prices (YAML)"),
    (("currency: EUR", "currency: EUR\ncurrency: USD"), "prices.yaml:2: the key 'currency' occurs twice; expected"),
    (("gpu: {price: 1000", "gpu: {price: 1, price: 1000"), "the key 'price' occurs twice; expected"),
    (("gpu: {price: 1000", "gpu: {price: 1_000"), "gpu: price is '1_000'; expected a number"),
])
def test_a_list_that_does_not_do_is_refused(place, change, message):
    (place / "prices.yaml").write_text(PRICES.replace(*change))
    result = run(place, "--describe", "clos", "--prices", "prices.yaml")
    assert result.returncode == 2 and message in result.stderr, result.stderr


def test_prices_need_a_topology(place):
    result = run(place, "--prices", "prices.yaml")
    assert result.returncode == 2 and "expected --describe FILE" in result.stderr
