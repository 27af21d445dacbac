# SPDX-License-Identifier: GPL-2.0-only
"""A packet-level simulator of AI clusters, as a library: what the scripts are made of.

    topology()    generates a topology, or reads one; generate() returns its path alone
    workload()    writes what ranks compute and communicate in a training iteration, or of inference
    plan()        finds the fastest parallelism for a model on GPUs
    simulate()    runs a workload on a topology; clustersim.results.open_run() reads an earlier run
    why()         explains a run: its critical path, and what would shorten it
    serve()       serves requests, and tells the times of their tokens

Results show themselves: as text where they are printed, as tables in a notebook. Figures are pandas DataFrames.
"""
import importlib

for _name in ("topology", "workload", "why"):  # folders of these names, before the functions take their place here
    importlib.import_module(f"clustersim.{_name}")

from clustersim.errors import InputError
from clustersim.library.fabric import TopologyError, generate, topology
from clustersim.library.functions import plan, serve, why, workload
from clustersim.simulation import SimulationError, SimulationWarning, simulate
from clustersim.version import __version__

__all__ = ["InputError", "SimulationError", "SimulationWarning", "TopologyError", "__version__", "generate", "plan",
           "serve", "simulate", "topology", "why", "workload"]
