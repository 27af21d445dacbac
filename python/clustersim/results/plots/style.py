# SPDX-License-Identifier: GPL-2.0-only
"""How all plots look: colours, sizes, units, and the parts that several plots share."""
import contextlib
import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TYPE_CHECKING

import matplotlib
import matplotlib.colors
import matplotlib.rcsetup
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from clustersim.command import printable
from clustersim.plain_text import plain_text
from clustersim.results import ResultsError
from clustersim.results.breakdown import PARTS
from clustersim.results.plots import THEMES
from clustersim.whole_file import whole_file

if TYPE_CHECKING:
    from clustersim.results.run import Run
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which people with any colour blindness can tell apart. Yellow comes last: it is
# pale on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
# Operations, phases of requests and rarer parts of a time have colours of their own, Tol's and some between them:
# Okabe and Ito's stand for the parts of breakdown.PARTS. One colour means one thing in all pictures that divide a time.
OTHERS = {"exposed communication": "#CC6677", "AllReduce": "#AA4499", "AllGather": "#44AA99",
          "ReduceScatter": "#DDCC77", "AllToAll": "#999933", "AllToAllV": "#777711", "SendRecv": "#BBCC33",
          "Broadcast": "#EE8866", "Reduce": "#FFAABB", "Gather": "#882255", "Scatter": "#AA7744", "Barrier": "#AAAAAA",
          "queue": "#EEDD88", "prefill": "#77AADD", "transfer of the cache": "#99DDFF", "decode": "#4477AA",
          "recomputation": "#117733", "launch": "#BBBBBB", "optimizer": "#332288", "host": "#AA4466",
          "stragglers": "#661100"}
SAME_AS = {"compute": "computation", "kernels": "computation"}
LINES = ("-", "--", ":", "-.")
SEQUENTIAL = "cividis"  # made for colour-blind people; its darkest is the smallest value
MOST_ROWS = 32  # of a picture with a row per port or group: more cannot be read
MOST_LINES = 8  # that are told apart by colour
MOST_POINTS = 3000  # along an axis: about twice what a picture can show


class NothingToDraw(ResultsError):
    """The run has no data for this plot; the text says which."""


def need_packets(run: "Run") -> None:
    """@throw NothingToDraw if the run's network has no packets, and so no queues, pauses and rates"""
    if not run.packets:
        raise NothingToDraw(f"{run.name}: --network {run.backend} simulates no packets")


@contextlib.contextmanager
def theme(name: str = "light", colours: Mapping[str, str] | None = None) -> Iterator[None]:
    """Figures that are made inside look like this. @param colours instead of the theme's own"""
    colours = colours or THEMES[name]
    settings = {
        "figure.facecolor": colours["paper"], "axes.facecolor": colours["paper"],
        "savefig.facecolor": colours["paper"], "text.color": colours["ink"],
        "axes.edgecolor": colours["soft"], "axes.labelcolor": colours["ink"],
        "xtick.color": colours["ink"], "ytick.color": colours["ink"], "grid.color": colours["grid"],
        "grid.linewidth": 0.7, "axes.grid": True, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "font.size": 10,
        "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "legend.frameon": False, "legend.fontsize": 9, "lines.linewidth": 1.8,
        "axes.prop_cycle": matplotlib.rcsetup.cycler(color=COLOURS), "figure.dpi": 100, "savefig.dpi": 150,
        # The same data give the same file.
        "svg.hashsalt": "cluster-sim",
    }
    with matplotlib.rc_context(settings), plain_text():
        yield


def soft_colour() -> str:
    """@return the colour of what is in the background: remarks, the many lines behind the few"""
    return matplotlib.rcParams["axes.edgecolor"]


def ink_colour() -> str:
    return matplotlib.rcParams["text.color"]


def new_figure(width: float = 8.0, height: float = 4.5, rows: int = 1, columns: int = 1,
               **arguments: Any) -> tuple[Figure, Any]:
    """@return a Figure and its axes; not registered with pyplot, so nothing has to be closed"""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **arguments)


def lay_out(figure: Figure) -> None:
    """Places what is in a figure, once: every format gets the same places, whichever is written first, and is drawn
    once instead of thrice."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)


@plain_text()
def save(figure: Figure, path: pathlib.Path) -> None:
    """Writes a figure in the format of the path's suffix, without a date in it."""
    lay_out(figure)
    with whole_file(path) as part:
        figure.savefig(part, metadata={"Date": None} if path.suffix == ".svg" else None)


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def colour_of(name: str) -> str:
    """@return the colour of a part of a time, an operation or a phase: the same in every picture"""
    parts = {title.removeprefix("exposed "): colour(place) for _, title, place in PARTS}
    known = OTHERS | parts
    return known.get(SAME_AS.get(name, name)) or list(known.values())[sum(map(ord, name)) % len(known)]


def line(index: int) -> dict[str, Any]:
    """@return the style of the n-th line: colours first, then other dashes"""
    return {"color": colour(index), "linestyle": LINES[index // len(COLOURS) % len(LINES)]}


def time_unit(longest_ns: float) -> tuple[float, str]:
    """@return (nanoseconds in a unit, its name), such that the longest time has few digits"""
    for factor, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if longest_ns >= 10 * factor or (name == "µs" and longest_ns >= factor):
            return factor, name
    return 1.0, "ns"


def number_text(number: float) -> str:
    """@return a number with three digits that count, never as a power of ten"""
    return f"{float(f'{number:.3g}'):.15g}"


def time_text(ns: float) -> str:
    """@return a time in a word"""
    for factor, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{number_text(ns / factor)} {name}"
    return f"{number_text(ns)} ns"


def byte_unit(most: float) -> tuple[float, str]:
    """@return (bytes in a unit, its name); units are powers of 1000, as in a conf"""
    for factor, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if most >= factor:
            return factor, name
    return 1.0, "bytes"


# Sizes are powers of 1000 or of 1024, whichever is round.
BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
DECIMAL: tuple[tuple[float, str], ...] = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def size_text(size: float) -> str:
    """@return a size in a word: in powers of 1000 if it is a round number of those and not of 1024"""
    for binary, name in BINARY:
        if size >= binary and size % binary == 0 and size < 10_000 * binary:
            return f"{size // binary} {name}"
    for factor, name in DECIMAL if float(f"{size:.3g}") == size else BINARY:
        if size >= factor:
            return f"{number_text(size / factor)} {name}"
    return f"{size:g} B"


def size_texts(sizes: Iterable[float]) -> list[str]:
    """@return sizes in words for one picture: all in powers of 1000, or all in powers of 1024 if that suits more"""
    sizes = [int(size) for size in sizes]
    binary = sum(size_text(size).endswith("iB") for size in sizes if size >= 1024)
    units = BINARY if 2 * binary > sum(size >= 1024 for size in sizes) else DECIMAL
    return [next((f"{number_text(size / factor)} {name}" for factor, name in units if size >= factor), f"{size} B")
            for size in sizes]


def time_axis(axes: "Axes", longest_ns: float) -> float:
    """Labels the x axis as simulated time. @return nanoseconds in its unit"""
    factor, name = time_unit(longest_ns)
    axes.set_xlabel(f"simulated time ({name})")
    axes.xaxis.set_major_locator(MaxNLocator(8))
    return factor


def remark(axes: "Axes", text: str) -> None:
    """A line under the title, for what the picture leaves out or how it is to be read."""
    axes.set_title(f"{axes.get_title(loc='left')}\n", loc="left")
    axes.annotate(text, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=9,
                  color=soft_colour(), va="bottom")


def cumulative(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """@param times ascending @return (times, per cent of them that are at most so long), from zero, as steps to draw"""
    shares = np.arange(1, len(times) + 1) / len(times) * 100
    shown = np.unique(np.linspace(0, len(times) - 1, MOST_POINTS - 1).round().astype(int))
    return np.concatenate([times[:1], times[shown]]), np.concatenate([[0], shares[shown]])


SAME = 0.005  # of the range of the picture: lines nearer than that to each other lie on each other
EQUAL = 0.01  # of a value: what differs by more has a line of its own, wherever that lies


def merge_coinciding(axes: "Axes") -> int:
    """Hides lines that lie on an earlier one, which then has their names as well. @return lines that are left"""
    left: list[tuple[Any, tuple[np.ndarray, np.ndarray]]] = []

    def scale(values: ArrayLike) -> np.ndarray:
        return np.log(values) if is_log else np.asarray(values)

    is_log = axes.get_yscale() == "log"
    low, high = scale(axes.get_ylim())
    for line in axes.get_lines():
        if str(line.get_label()).startswith("_"):
            continue
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        twin = next((other for other, (xs, ys) in left if len(xs) == len(x) and np.allclose(xs, x)
                     and np.nanmax(np.abs(scale(ys) - scale(y)), initial=0) <= SAME * abs(high - low)
                     and np.allclose(ys, y, rtol=EQUAL, equal_nan=True)), None)
        if twin is None:
            left.append((line, (x, y)))
            continue
        twin.set_label(f"{twin.get_label()}\n= {line.get_label()}")
        line.remove()
    return len(left)


def legend(axes: "Axes", entries: int, **arguments: Any) -> None:
    """A legend beside the axes, where it covers no data; none for a single entry without a title."""
    if entries < 2 and "title" not in arguments:
        return
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, alignment="left",
                **arguments)


def port_name(run: "Run", node: int, port: int) -> str:
    """@return such as "switch 20 → GPU 3", or with the port's number when its peer is unknown"""
    name = run.nodes.name(node)
    links = run.links
    if links is not None:
        peers = links.loc[(links["node"] == node) & (links["port"] == port), "peer"]
        # With the peer, the tier needs no saying.
        if len(peers):
            return f"{_short(name)} → {_short(run.nodes.name(int(peers.iloc[0])))}"
    return f"{name} port {port}"


def _short(name: str) -> str:
    return name.partition(" (")[0]


def merge_spans(starts: Iterable[float], ends: Iterable[float], gap: float) -> list[tuple[float, float]]:
    """@return (start, length) of the intervals, ordered, those less than a gap apart joined"""
    merged: list[list[float]] = []
    for start, end in sorted(zip(starts, ends)):
        if merged and start - merged[-1][1] < gap:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [(start, end - start) for start, end in merged]


def name_rows(axes: "Axes", names: Sequence[str]) -> None:
    """Names the rows of a picture, the first at the top."""
    axes.set_yticks(range(len(names)), names, fontsize=9 if len(names) <= 20 else 7)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")


def slant(many: object) -> dict[str, Any]:
    """@return how labels of an x axis stand: upright, or slanting when there are many of them"""
    return {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if many else {}


def apart(values: Sequence[float], most: int) -> list[float]:
    """@return ascending values without those too near to the one before, on a logarithmic axis with room for most"""
    kept: list[float] = []
    for value in values:
        if not kept or math.log(value / kept[-1]) >= math.log(values[-1] / values[0]) / most:
            kept.append(value)
    return kept


def row_height(rows: int) -> float:
    """@return inches of each of so many rows, at least"""
    return 0.28 if rows <= 20 else 0.2


def rows_height(rows: int) -> float:
    """@return inches of a picture with so many rows"""
    return 1.6 + max(1.2, rows * row_height(rows))


def on_colour(fill: str) -> str:
    """@return black or white, whichever can be read on a fill"""
    red, green, blue = matplotlib.colors.to_rgb(fill)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def shorten(text: object, most: int = 36) -> str:
    """@return a name as a picture shows it: on one line, of characters that every format takes, and not too long"""
    text = printable(text)
    if text.startswith("_"):  # matplotlib leaves such labels out of legends
        text = " " + text
    return text if len(text) <= most else text[:most // 2 - 1] + "…" + text[-most // 2:]


def percentile(ordered: Sequence[float] | np.ndarray, share: float) -> float:
    """@return the smallest of the ordered values that is at least as large as that share (in %) of them"""
    return ordered[max(0, math.ceil(len(ordered) * share / 100 - 1e-9) - 1)]
