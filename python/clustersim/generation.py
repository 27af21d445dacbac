# SPDX-License-Identifier: GPL-2.0-only
"""Writes topology files, as topologies/gen_Topo_Template.py does.

    from clustersim import generate
    path = generate("Spectrum-X", gpu=128, gpu_type="A100", bandwidth="100Gbps", output="results/")
"""
from __future__ import annotations

import os
import pathlib
import warnings

from clustersim.simulation import flag_words


class TopologyError(ValueError):
    """The flags of a topology contradict each other, or a file cannot be written; the text says what was expected."""


def generate(topology: str | None = None, *, output: os.PathLike | str | None = None, **flags: object) -> pathlib.Path:
    """Generates a topology and writes it to a file.

    @param topology a template, such as "Spectrum-X"; None for networks that flags alone describe
    @param output the file; "DIR/" or a directory: in it, under the name that follows from the flags; None: in the
        current directory
    @param flags the generator's flags by their long names: gpu=128 is --gpu 128; True is the flag alone; None and
        False leave it out
    @return path of the file
    @raise TopologyError if flags are wrong. What the generator warns of is a UserWarning each.
    """
    from clustersim.topology.generator import command_line  # loads networkx
    from clustersim.topology.cluster import InputError

    words = flag_words({"topology": topology, "output": None if output is None else os.fspath(output), **flags})
    try:
        given = vars(command_line.make_parser("").parse_args(words))
        path, _, said = command_line.generate(given)
    except InputError as error:
        raise TopologyError(str(error)) from None
    for warning in said:
        warnings.warn(warning, stacklevel=2)
    return pathlib.Path(path)
