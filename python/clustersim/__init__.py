# SPDX-License-Identifier: GPL-2.0-only
"""Topologies, simulations, results, plots and sweeps of AI clusters: what the scripts are made of.

    topology    generates, checks, describes and draws topology files: generate()
    simulation  runs the simulator from Python: simulate()
    results     reads what a run leaves as pandas DataFrames; tables, plots, a page
    sweep       grids of topologies, confs, workloads and variables
"""
from clustersim.generation import TopologyError, generate
from clustersim.simulation import SimulationError, SimulationWarning, simulate
from clustersim.version import __version__

__all__ = ["SimulationError", "SimulationWarning", "TopologyError", "__version__", "generate", "simulate"]
