# SPDX-License-Identifier: GPL-2.0-only
"""Reads what runs leave in their output directories, as pandas DataFrames.

    from clustersim.results import open_run
    run = open_run("results/first")
    run.flows["slowdown"].quantile(0.99)
    for problem in run.problems:
        print(problem)

Everything is read when it is first asked for. What a run did not write is None; what is missing
though the run should have written it, cut off or malformed is one line in run.problems, and the rest
can be used. ResultsError means that a directory holds no results at all.

A Run has these (units in the names; docstrings of the modules of reading explain the columns):

    info          run.json as a dictionary                                      run_json
    flows         finished flows, fct.txt                                       flows
    pauses        pauses of ports, pfc.txt; pause_events are its lines           pauses
    paused_queues queues that were paused and by whom, pauses.csv               pauses
    queues        lengths of switch queues, queue.txt                            queues
    bandwidth     sampled bandwidth of ports, bandwidth.txt                     samples
    rates, cnps   of queue pairs, rate.txt and cnp.txt                          samples
    reordering    queue pairs with packets out of order, reordering.csv         reordering
    summary       one row per job: times and exposed communication              end_to_end
    layers        one row per layer of each job, EndToEnd.csv                   end_to_end
    collectives   one row per collective and group                              collectives
    links         counters of all ports, links.csv                              links
    requests      transfers of a KV-cache workload                              requests
    served        requests of an INFERENCE workload                             requests
    inference     distributions of their times, throughput, goodput             requests
    instances     what each serving instance did                                requests
    memory        bytes held by tensors                                         requests
    timeline      what ranks did when, timeline.json                            timeline
    topology, nodes   the topology file, and names and kinds of its nodes        nodes

Directories of the HPCC simulator and of SimAI, which have no run.json, can be opened too.
"""
from typing import TYPE_CHECKING, Any

from clustersim.results.reading.problem import Problem, ResultsError

if TYPE_CHECKING:
    from clustersim.results.run import Run, open_run, open_runs

__all__ = ["Problem", "ResultsError", "Run", "open_run", "open_runs"]


def __getattr__(name: str) -> Any:
    """Modules that load pandas are loaded on demand: commands that refuse their arguments, or print their help, do
    without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clustersim.results import run
    return getattr(run, name)
