# SPDX-License-Identifier: GPL-2.0-only
"""Fabrics to compare: topology files, templates, or flags of the generator."""
import argparse
import dataclasses
import pathlib
import re
import shlex
import sys
import warnings

from clustersim.errors import InputError
from clustersim.topology.generator import command_line
from clustersim.topology.layers import prices as price_lists
from clustersim.topology.reader import Topology, read

NAME = re.compile(r"([\w.+ -]+?)=(.*)", re.S)
HOURS = 365 * 24  # of a year


@dataclasses.dataclass(frozen=True)
class Fabric:
    """A candidate with its price and watts, of all parts and of the network alone; None without a price list."""
    name: str
    path: pathlib.Path
    topology: Topology
    price: float | None = None
    watts: float | None = None
    network_price: float | None = None

    def cost_per_hour(self, years: float, kwh: float) -> float | None:
        """@return of all parts, written off in `years`, and of their power"""
        if self.price is None or self.watts is None:
            return None
        return self.price / (years * HOURS) + self.watts / 1000 * kwh


def _split(text: str) -> tuple[str | None, str]:
    match = NAME.fullmatch(text)
    return (match[1].strip(), match[2].strip()) if match and not text.startswith("-") else (None, text.strip())


def _generated(words: list[str], gpus: int | None, directory: pathlib.Path, name: str) -> pathlib.Path:
    try:
        given = vars(command_line.make_parser("").parse_args(words))
    except InputError as error:
        raise InputError(f'the fabric "{name}": {error}; expected flags of gen_Topo_Template.py') from None
    if given["gpu"] is None:
        if gpus is None:
            raise InputError(f'the fabric "{name}" has no number of GPUs; expected --gpus, or -g among its flags')
        given["gpu"] = gpus
    given["output"], given["force"] = str(directory / f"{name}.topology"), True
    path, _, said = command_line.generate(given)
    for line in said:
        print(f"compare_fabrics.py: warning: {name}: {line}", file=sys.stderr)
    return path


def find(text: str, gpus: int | None, directory: pathlib.Path) -> Fabric:
    """@param text NAME=WHAT or WHAT: a file, a template's name, or flags of gen_Topo_Template.py
    @param directory where generated files go @return the Fabric, without prices"""
    name, what = _split(text)
    words = shlex.split(what)
    if not words:
        raise InputError(f'the fabric "{text}" is empty; expected a topology file, a template, or flags of '
                         "gen_Topo_Template.py")
    if pathlib.Path(what).is_file():
        path = pathlib.Path(what)
        name = name or path.name
    else:
        flags = words if words[0].startswith("-") else ["-topo", *words]
        name = name or "-".join(word.strip("-") for word in words if word not in ("-topo", "--topology"))
        path = _generated(flags, gpus, directory, name.replace("/", "-"))
    return Fabric(name, path, read(path))


def priced(fabric: Fabric, file: str) -> Fabric:
    """@return the fabric with the prices of its parts"""
    parts = price_lists.parts_of(fabric.topology, price_lists.Prices(file))
    return dataclasses.replace(fabric, price=sum(part.count * part.price for part in parts),
                               watts=sum(part.count * part.watts for part in parts),
                               network_price=sum(part.count * part.price for part in parts if part.network))


def find_all(given: argparse.Namespace, directory: pathlib.Path) -> list[Fabric]:
    """@return the fabrics of the flags, with names of their own"""
    found = [find(text, given.gpus, directory) for text in given.fabric]
    names = [fabric.name for fabric in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f'{names.count(name)} fabrics are called "{name}"; expected NAME=... before each')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [priced(fabric, given.prices) for fabric in found] if given.prices else found
