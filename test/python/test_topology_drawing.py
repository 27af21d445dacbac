# SPDX-License-Identifier: GPL-2.0-only
"""gen_Topo_Template.py --draw: pictures with something on them, and rails where there are rails."""
import pathlib
import sys
import warnings

import matplotlib.image
import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "topologies/gen_Topo_Template.py"
sys.path.insert(0, str(ROOT / "python"))

from clustersim.topology.layers.draw import figure_of, rails_of  # noqa: E402
from clustersim.topology.layers.graph import Graph  # noqa: E402
from clustersim.topology.layers.layout import layout_of  # noqa: E402
from clustersim.topology.reader import read  # noqa: E402


def run(directory, *arguments):
    return run_script([GENERATOR, *arguments], cwd=directory)


def test_a_picture_has_layers_rails_and_planes(tmp_path):
    name = run(tmp_path, *"-topo AlibabaHPN --dp -g 64 -asn 16 -psn 16".split()).stdout.strip()
    result = run(tmp_path, "--draw", name)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [f"{name}.png", f"{name}.svg"]
    picture = matplotlib.image.imread(tmp_path / f"{name}.png")
    assert picture.shape[0] > 800 and picture.shape[1] > 1500
    colours = {tuple(pixel) for pixel in (picture[::2, ::2, :3] * 255).astype(int).reshape(-1, 3)}
    for rail in ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167)):
        assert rail in colours
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()[:2000]


def test_rails_that_nothing_joins_are_no_planes(tmp_path):
    name = run(tmp_path, *"-topo RailOnly -g 32".split()).stdout.strip()
    figure = figure_of(read(tmp_path / name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what matplotlib says when the legend leaves no room for the picture
        figure.savefig(tmp_path / "rails.png")
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == ["GPU", "NVSwitch", "switch", *(f"rail {number}" for number in range(8))]


def test_links_between_nvswitches_are_bows_with_their_rates(tmp_path):
    """They lay on each other, as the NVSwitches stand in a row, and without a rate."""
    for topology in ("Clos2", "Torus"):
        name = run(tmp_path, "-topo", topology, "-g", "128", "-gt", "MI250X").stdout.strip()
        graph = Graph(read(tmp_path / name))
        links = {(link.a, link.b) for link in graph.topology.links if {link.a, link.b} <= graph.nvswitches}
        assert len(links) == 16 * 12 and links <= layout_of(graph).curved
        texts = [text.get_text() for text in figure_of(graph.topology).axes[0].texts]
        rates = "96 × 288 Gb/s, 32 × 576 Gb/s, 64 × 1152 Gb/s"
        assert any(rates in text.replace("\n", ", " if topology == "Clos2" else " ") for text in texts)


def test_flat_networks_are_drawn_as_circles(tmp_path):
    name = run(tmp_path, "-topo", "Dragonfly").stdout.strip()
    assert run(tmp_path, "--draw", name, "--output", "flat").returncode == 0
    height, width, _ = matplotlib.image.imread(tmp_path / "flat.png").shape
    assert height == width


@pytest.mark.parametrize("flags, rails", [
    ("-topo Spectrum-X -g 64", 8),
    ("-topo NVL72 -g 288", 4),
    ("-topo FatTree", 0),
    ("-topo Dragonfly", 0),
    ("-topo DCN+ -g 128", 0),
])
def test_rails_are_found_where_they_are(tmp_path, flags, rails):
    name = run(tmp_path, *flags.split()).stdout.strip()
    found = rails_of(Graph(read(tmp_path / name)))
    assert len(set(found.values()) if found else ()) == rails


def test_too_many_gpus_for_a_picture_are_refused(tmp_path):
    name = run(tmp_path, *"-topo Spectrum-X -g 2048".split()).stdout.strip()
    result = run(tmp_path, "--draw", name)
    assert result.returncode == 2 and "expected at most 1024" in result.stderr


def test_rates_and_oversubscription_stand_between_the_layers(tmp_path):
    run(tmp_path, "-topo", "Clos2", "-g", "16", "--nics_per_leaf", "8", "--oversubscription", "4", "-o", "clos")
    with matplotlib.rc_context():
        texts = [text.get_text() for text in figure_of(read(tmp_path / "clos")).axes[0].texts]
    assert "4 × 400 Gb/s\n4:1 oversubscribed" in texts
    assert "16 × 400 Gb/s" in texts and "16 × 2880 Gb/s" in texts


def test_layers_switches_and_bundles_have_their_names_and_numbers(tmp_path):
    # 16 GPUs, 2 NVSwitches, 2 leaves, 2 spines with 4 links to each leaf.
    run(tmp_path, *"-topo Clos2 -g 16 --nics_per_leaf 8 -lpp 4 -o clos".split())
    texts = [text.get_text() for text in figure_of(read(tmp_path / "clos")).axes[0].texts]
    assert {"16 GPUs\nnodes 0-15", "2 NVSwitches\nnodes 16-17", "2 access switches\nnodes 18-19",
            "2 aggregation switches\nnodes 20-21", "18", "19", "20", "21"} <= {*texts}
    assert "16 × 400 Gb/s\n4 between two\nnot oversubscribed" in texts
    run(tmp_path, *"-topo Torus --dims 2x2 -o torus".split())
    texts = " ".join(text.get_text().replace("\n", " ") for text in figure_of(read(tmp_path / "torus")).axes[0].texts)
    assert "GPUs: nodes 0-31; NVSwitches: nodes 32-35" in texts and "36 37 38 39" in texts
