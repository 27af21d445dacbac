# SPDX-License-Identifier: GPL-2.0-only
"""Writes topology files, as topologies/gen_Topo_Template.py does.

    import clustersim
    fabric = clustersim.topology("Spectrum-X", gpu=128, gpu_type="A100", bandwidth="100Gbps", output="results/")
    print(fabric)
"""
from __future__ import annotations

import dataclasses
import io
import os
import pathlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.shown import Shown, Table
from clustersim.simulation import flag_words

if TYPE_CHECKING:
    import pandas as pd
    from clustersim.topology.reader import Topology


class TopologyError(InputError, ValueError):
    """The flags of a topology contradict each other, or a file is wrong or cannot be written; the text says what was
    expected."""


@dataclasses.dataclass(frozen=True, repr=False)
class Fabric(Shown):
    """A topology file, which open() and simulate() take; its text is that of --describe."""
    topology: Topology

    @property
    def path(self) -> pathlib.Path:
        """The file"""
        return pathlib.Path(self.topology.path)

    def __fspath__(self) -> str:
        return self.topology.path

    def headline(self) -> str:
        """@return the file, and how many of each kind it has"""
        it = self.topology
        return (f"{it.path}: {len(it.gpus)} {it.gpu_type or 'hosts'} in servers of {it.gpus_per_server}, "
                f"{len(it.nvswitches)} NVSwitches, {len(it.switches)} switches, {len(it.links)} links")

    def lines(self) -> Iterator[str]:
        from clustersim.topology.layers.describe import describe  # loads networkx
        return describe(self.topology)

    @property
    def frame(self) -> pd.DataFrame:
        """A row per link: its nodes a and b, gbps (10^9 bit/s), delay_ns, error_rate of packets"""
        import pandas as pd
        return pd.DataFrame([(link.a, link.b, link.rate_bps / 1e9, link.delay_ps / 1e3, link.error_rate)
                             for link in self.topology.links], columns=["a", "b", "gbps", "delay_ns", "error_rate"])

    def parts(self, prices: os.PathLike | str) -> pd.DataFrame:
        """@param prices a file such as topologies/prices.yaml @return a row per kind of part: name, count, price and
        watts of each, and whether it belongs to the network
        @raise TopologyError a price is missing or wrong"""
        import pandas as pd
        from clustersim.topology.layers.prices import Prices, parts_of
        try:
            return pd.DataFrame(map(dataclasses.asdict, parts_of(self.topology, Prices(prices))))
        except InputError as error:
            raise TopologyError(str(error)) from None

    def tables(self) -> Iterator[Table]:
        kinds = self.frame.groupby(["gbps", "delay_ns"], as_index=False).size()
        yield "links", kinds.rename(columns={"size": "links"})

    def picture(self) -> bytes | None:
        from clustersim.plain_text import plain_text  # loads matplotlib
        from clustersim.topology.layers.draw import MOST_GPUS, figure_of
        if len(self.topology.gpus) > MOST_GPUS:
            return None
        data = io.BytesIO()
        with plain_text():
            figure_of(self.topology).savefig(data, format="svg")
        return data.getvalue()


def _generated(flags: dict[str, object]) -> tuple[pathlib.Path, list[str]]:
    """@return the file that was written, and warnings"""
    from clustersim.topology.generator import command_line  # loads networkx

    try:
        path, _, said = command_line.generate(vars(command_line.make_parser("").parse_args(flag_words(flags))))
    except InputError as error:
        raise TopologyError(str(error)) from None
    return pathlib.Path(path), said


def _checked(path: os.PathLike | str, flags: dict[str, object]) -> tuple[Topology, list[str]]:
    """@return a topology that exists, and warnings"""
    from clustersim.topology.generator import command_line

    foreign = sorted(name for name, value in flags.items() if value not in (None, False) and name != "gpu_table")
    if foreign:
        raise TopologyError(f"--{foreign[0]} means nothing beside --check; expected --gpu_table at most")
    try:
        table = flags.get("gpu_table")
        return command_line.checked(os.fspath(path), None if table is None else str(table))
    except InputError as error:
        raise TopologyError(str(error)) from None


def topology(topology: str | None = None, *, output: os.PathLike | str | None = None,
             check: os.PathLike | str | None = None, **flags: object) -> Fabric:
    """Generates a topology and writes it to a file, or reads one that exists.

    @param topology a template, such as "Spectrum-X" or "Clos2"; None for networks that flags alone describe
    @param output the file; "DIR/" or a directory: in it, under the name that follows from the flags; None: in the
        current directory
    @param check a topology file to read in the place of generating one
    @param flags the generator's flags by their long names: gpu=128 is --gpu 128; True is the flag alone; None and
        False leave it out. Rates and delays have units: "400Gbps", "0.0005ms"
    @return the Fabric, which simulate() and plan() take; frame has its links (gbps in 10^9 bit/s, delay_ns)
    @raise TopologyError flags or the file are wrong. Each warning of the generator is a UserWarning.
    """
    from clustersim.topology.reader import read

    if check is not None:
        found, said = _checked(check, {"topology": topology, "output": output, **flags})
    else:
        path, said = _generated({"topology": topology, "output": output, **flags})
        found = read(path)
    for warning in said:
        warnings.warn(warning, stacklevel=2)
    return Fabric(found)


def generate(topology: str | None = None, *, output: os.PathLike | str | None = None, **flags: object) -> pathlib.Path:
    """Generates a topology and writes it to a file.

    @param topology, output, flags as for topology()
    @return path of the file
    @raise TopologyError flags are wrong. Each warning of the generator is a UserWarning.
    """
    path, said = _generated({"topology": topology, "output": output, **flags})
    for warning in said:
        warnings.warn(warning, stacklevel=2)
    return path
