# SPDX-License-Identifier: GPL-2.0-only
"""A rank that waits for others to begin a collective idles in a bubble, whichever thread or process knows when they
begin."""
import csv
import json
import shutil

import pytest
from divided_jobs import JOBS, PROGRAMS, cluster, simulate, write_inputs
from test_extensions import attribute, field, varint
from test_processes import AS_ROOT, mpirun

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
COMPUTE_US = (10, 70, 40, 130)
NS_OF_MESSAGES = 50_000  # far above the time of messages of a few bytes, far below the waits


def node(number, kind, after=(), us=0, **attributes):
    deps = b"".join(map(varint, after))
    return (field(1, number) + field(2, b"node") + field(3, kind) + (field(5, deps) if after else b"")
            + (field(7, us) if us else b"") +
            b"".join(attribute(*item) for item in attributes.items()))


def write_pipeline(path):
    """Stages compute one after the other, hand on one byte, and reduce the gradients of what all of them hold."""
    last = len(COMPUTE_US) - 1
    for rank, us in enumerate(COMPUTE_US):
        nodes = [field(1, b"0.0.4")]
        if rank > 0:
            nodes.append(node(0, RECEIVE, comm_size=1, comm_src=rank - 1, comm_dst=rank, comm_tag=rank))
        nodes.append(node(1, COMPUTE, [0] if rank else [], us))
        if rank < last:
            nodes.append(node(2, SEND, [1], comm_size=1, comm_src=rank, comm_dst=rank + 1, comm_tag=rank + 1))
        nodes.append(node(3, COLLECTIVE, [2 if rank < last else 1], comm_type=0, comm_size=8))
        path.with_name(f"{path.name}.{rank}.et").write_bytes(b"".join(varint(len(each)) + each for each in nodes))


def summary(directory):
    """@return the breakdown of EndToEnd.csv in nanoseconds"""
    path = next(directory.glob("*EndToEnd.csv"))
    with path.open(newline="") as file:
        names, values = [next(csv.reader([line], skipinitialspace=True)) for line in [next(file), next(file)]]
    return {name: float(value.split()[0]) * 1000 for name, value in list(zip(names, values))[1:]}


def spans(directory):
    """@return for each rank, what it did when, in microseconds"""
    of = {}
    for event in json.loads((directory / "timeline.json").read_text()):
        if event.get("cat") in ("compute", "wait"):
            of.setdefault(event["pid"], []).append((event["ts"], event["dur"], event["name"]))
    return {rank: sorted(each) for rank, each in of.items()}


@pytest.mark.parametrize("network", ["packet", "flow"])
@pytest.mark.parametrize("threads, processes", [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2)])
def test_stages_that_wait_in_a_collective_of_all_idle(tmp_path, network, threads, processes):
    if processes > 1 and (network == "flow" or shutil.which("mpirun") is None
                          or not (PROGRAMS / "simai-mpi.so").exists()):
        pytest.skip("needs packets, mpirun and simai-mpi.so")
    cluster(tmp_path / "network", servers=4, gpus=1)
    write_pipeline(tmp_path / "stages")
    result = simulate(tmp_path, "out", "-w", "stages", "-n", "network", "--network", network, "-t", threads,
                      "--timeline-ranks", "4",
                      env=AS_ROOT, launcher=mpirun(processes) if processes > 1 else ())
    assert result.returncode == 0, result.stderr
    told = summary(tmp_path / "out")
    ranks, compute = len(COMPUTE_US), 1000 * sum(COMPUTE_US)
    assert told["total comp"] == pytest.approx(compute / ranks)
    # A stage idles while the others compute, whether it waits for a message or in the collective.
    assert told["bubble time"] == pytest.approx((ranks - 1) * compute / ranks, abs=NS_OF_MESSAGES)
    assert told["Expose_PP_comm"] < NS_OF_MESSAGES and told["total exposed comm"] < NS_OF_MESSAGES
    assert told["total comp"] + told["bubble time"] + told["total exposed comm"] == pytest.approx(told["Total time"],
        rel=1e-6)


@pytest.mark.parametrize("job", ["pipeline", "gpus-differ", "experts", "data-parallel"])
def test_a_rank_computes_or_waits_at_any_time(tmp_path, job):
    write_inputs(tmp_path)
    flags, env = JOBS[job]
    flags = flags[:flags.index("--timeline-ranks")] if "--timeline-ranks" in flags else flags
    assert simulate(tmp_path, "out", *flags, "--timeline-ranks", "32", env=env).returncode == 0
    told = spans(tmp_path / "out")
    assert len(told) == 32
    for rank, each in told.items():
        now = 0
        for begin, took, _ in each:
            assert begin == pytest.approx(now, abs=0.01), rank
            now = begin + took
    if job == "gpus-differ":  # some are done sooner, and wait for the others in the collectives of tensor parallelism
        assert any("bubble" in name for each in told.values() for *_, name in each)
