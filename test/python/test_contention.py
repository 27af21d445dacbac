# SPDX-License-Identifier: GPL-2.0-only
"""Groups that share uplinks take longer together: closed forms, and plans against simulations."""
import os
import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim import generate  # noqa: E402
from clustersim.topology import reader  # noqa: E402
from clustersim.workload.command import plan_command  # noqa: E402
from clustersim.workload.flags import kernel_flags, model_flags  # noqa: E402
from clustersim.workload.contention import demand, uplinks  # noqa: E402
from clustersim.workload.estimate.collective_times import CollectiveTimes, Machine  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.planning import carried_out  # noqa: E402
from clustersim.workload.planning import search  # noqa: E402
from clustersim.workload.training import megatron  # noqa: E402
from clustersim.workload.training.rows import Collective  # noqa: E402
from clustersim.workload.write import layout  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
NIC = 50  # bytes/ns


def links_of(tmp_path, template="Clos2", **flags):
    """@return the uplinks of 32 H100 in 4 servers, with a NIC of 50 GB/s for each"""
    path = generate(template, **{"gpu": 32, "gpu_type": "H100", "bandwidth": "400Gbps", **flags},
                    output=tmp_path / "topology")
    return uplinks.find(reader.read(path))


def stretch(links, op, stride, size, world_size=32):
    """@return by what sharing multiplies the time on NICs"""
    found = demand.Demands(links).find(op, stride, size, world_size)
    return max(1.0, found.together / found.nic) if found.nic else 1.0


@pytest.fixture
def two_leaves(tmp_path):
    """Two servers on each of two leaves, whose 16 NICs share 4 uplinks."""
    return links_of(tmp_path, nics_per_leaf=16, oversubscription=4)


@pytest.mark.parametrize("shape", [dict(tp=4, pp=2, cp=2), dict(tp=2, ep=8), dict(tp=4, ep=8, etp=1),
                                   dict(zero=3, copies=4), dict(tp=2, zero=3, copies=2, pp=2)])
def test_groups_are_those_of_the_layout(shape):
    plan = Parallelism(world_size=32, **shape)
    for kind in ("TP", "CP", "DP", "DP_EP", "DP_COPIES", "EP", "PP"):
        stride, size = plan.groups[kind]
        assert size == layout.size_of(plan, kind)
        assert set(map(tuple, demand.groups(stride, size, 32))) == {
            tuple(layout.group_of(plan, kind, rank)[1]) for rank in range(32)}, kind


def test_a_ring_crosses_leaves_with_one_flow_and_an_exchange_with_most_of_its_bytes(tmp_path):
    """Servers of one GPU, four on each of two leaves with one uplink."""
    links = links_of(tmp_path, gpu=8, gpu_per_server=1, nics_per_leaf=4, oversubscription=4)
    assert stretch(links, "ALLREDUCE", 1, 8, 8) == 1
    # Of 7/8 of its bytes that leave a rank, 4/8 pass the uplink, with those of three more ranks.
    assert stretch(links, "ALLTOALL", 1, 8, 8) == pytest.approx(4 * (4 / 8) / (7 / 8))


@pytest.mark.parametrize(("op", "stride", "size", "expected"), [
    ("ALLREDUCE", 1, 8, 1),  # within servers
    ("ALLREDUCE", 1, 16, 1),  # within leaves
    ("ALLREDUCE", 1, 32, 8 / 4),  # a server's 8 NICs send to the next leaf
    ("ALLGATHER", 8, 4, 8 / 4),  # 8 rings, each with one NIC
    ("REDUCESCATTER", 4, 8, 8 / 4),  # 4 rings, each with two NICs
    ("ALLTOALL", 1, 16, 1),
    ("ALLTOALL", 1, 32, 16 * (16 / 32) / 4 / (24 / 32)),
    ("ALLTOALL", 8, 4, 16 * (2 / 4) / 4 / (3 / 4)),
    ("SENDRECV", 16, 2, 16 / 4),  # all GPUs of a leaf send to the other one
    ("SENDRECV", 8, 4, 8 / 4),  # one of two servers does
])
def test_all_groups_of_a_kind_share_the_uplinks(two_leaves, op, stride, size, expected):
    assert stretch(two_leaves, op, stride, size) == pytest.approx(expected)


def test_bytes_take_as_much_longer_as_uplinks_need_for_them(two_leaves):
    plan = Parallelism(world_size=32, tp=8)
    collective = Collective("ALLREDUCE", "DP", 10**6)
    on_nic = 2 * (3 / 4) * 10**6 / NIC
    assert demand.Contention(two_leaves).extra_ns(plan, collective, 10**6) == pytest.approx(on_nic * (8 / 4 - 1))
    # A ring alone needs a quarter of the uplinks, so a time on these has nothing of it yet.
    assert demand.Contention(two_leaves, True).extra_ns(plan, collective, 10**6) == pytest.approx(on_nic)
    # The only group of its kind is there already.
    whole, exchange = Parallelism(world_size=32, ep=32), Collective("ALLTOALL", "EP", 10**6)
    assert demand.Contention(two_leaves, True).extra_ns(whole, exchange, 10**6) == pytest.approx(0, abs=1e-6)
    assert demand.Contention(two_leaves).extra_ns(whole, exchange, 10**6) > 10**4


@pytest.mark.filterwarnings("ignore:the switches of tier 1 have 4 times")
def test_traffic_between_gpus_at_the_same_place_stays_on_its_rail(tmp_path):
    """Eight leaves with four GPUs each, and one uplink."""
    links = links_of(tmp_path, "Spectrum-X", asw_switch_num=8, psw_switch_num=1)
    assert stretch(links, "ALLREDUCE", 8, 4) == stretch(links, "ALLREDUCE", 1, 32) == 1
    assert stretch(links, "SENDRECV", 8, 4) == 1
    # Of the 24 ranks of other servers, 3 are on the rank's leaf.
    assert stretch(links, "ALLTOALL", 1, 32) == pytest.approx(4 * (21 / 32) / (24 / 32))


def test_pods_have_uplinks_of_their_own(tmp_path):
    """Leaves of a server, in pods of two: both tiers carry half of what comes from below."""
    links = links_of(tmp_path, "Clos3", nics_per_leaf=8, leaves_per_pod=2, oversubscription=2)
    assert len(links.tiers) == 2
    assert stretch(links, "ALLTOALL", 1, 16) == pytest.approx(8 * (8 / 16) / 4 / (8 / 16))  # a pod's two leaves
    # 16 NICs of a pod have 8 links up from leaves and 4 from spines.
    assert stretch(links, "SENDRECV", 16, 2) == pytest.approx(16 / 4)


@pytest.mark.parametrize(("template", "flags"), [
    ("Clos2", dict(nics_per_leaf=8)), ("Clos3", dict(nics_per_leaf=8, leaves_per_pod=2)),
    ("Spectrum-X", dict(fit=True)), ("RailOnly", {}), ("Torus", dict(dims="2x2")),
    ("Clos2", dict(nics_per_leaf=8, gpus_per_nic=2))])
def test_there_is_no_contention_where_tiers_carry_all(tmp_path, template, flags):
    assert links_of(tmp_path, template, **flags) is None


def test_gpus_that_share_a_nic_have_their_part_of_it(tmp_path):
    links = links_of(tmp_path, nics_per_leaf=16, oversubscription=8, gpus_per_nic=2)
    assert list(links.nic) == [NIC / 2] * 32
    assert stretch(links, "SENDRECV", 16, 2) == pytest.approx(16 / 2 / 2)


def test_a_group_below_an_oversubscribed_tier_keeps_its_time_to_the_last_bit(two_leaves):
    plan = Parallelism(world_size=32, tp=8, sequence_parallel=True, cp=2, global_batch=8)
    job = megatron.Iteration(catalogue.find("llama3_8b"), plan, gpus.find("H100"))
    asked = [Collective("ALLGATHER", "TP", 2**24), Collective("ALLGATHER", "CP", 2**24),
             Collective("ALLREDUCE", "DP", 2**24)]
    idle = CollectiveTimes(job, Machine("H100"), asked)
    shared = CollectiveTimes(job, Machine("H100", contention=demand.Contention(two_leaves)), asked)
    assert [shared(each) == idle(each) for each in asked] == [True, True, False]


def timed(topology, *flags):
    """@return the reader's own layout as plan.py times it, and the job"""
    given = plan_command.parse(["--gpus", "32", "--topology", str(topology), "--bin", str(PROGRAMS), *map(str, flags)])
    directory = topology.parent / "scratch"
    directory.mkdir(exist_ok=True)
    with plan_command.settings(given):
        model = model_flags.find_model(given)
        machine, gpu, told = plan_command.find_machine(given)
        job = plan_command.job_of(given, model, machine, kernel_flags.with_times(gpu, given, model), told,
                                  str(directory))
        return plan_command.own_timed(given, job), job


MOE = ("--model", "qwen3_30b_a3b", "--num_layers", 2, "--global_batch", 64, "--seq_length", 2048, "--micro_batch", 2,
       "--ep", 16)
DENSE = ("--model", "llama2_7b", "--num_layers", 4, "--global_batch", 64, "--seq_length", 2048, "--tp", 8)


def test_the_program_alone_times_plans_where_no_group_meets_another(tmp_path):
    even = generate("Clos2", gpu=32, gpu_type="H100", bandwidth="400Gbps", nics_per_leaf=16, output=tmp_path / "even")
    _, job = timed(pathlib.Path(even), *DENSE)
    assert isinstance(job.timer_of(32), search.Analytical)


@pytest.mark.parametrize(("flags", "bound"), [(MOE, 0.05), (DENSE, 0.05), ((*DENSE, "--cp", 4), 0.15),
                                              ((*DENSE, "--framework", "megatron_2025"), 0.1)])
def test_plans_on_an_oversubscribed_fabric_take_about_the_time_of_their_simulation(flags, bound, tmp_path):
    """Four to one above each server. Estimates that know nothing of it are 10% (MoE) to 31% too short."""
    topology = pathlib.Path(generate("Clos2", gpu=32, gpu_type="H100", bandwidth="400Gbps", nics_per_leaf=8,
                                     oversubscription=4, output=tmp_path / "topology"))
    found, job = timed(topology, *flags)
    iteration = found.candidate.iteration
    carried_out.write(iteration, job.machine, job.framework, tmp_path / "w.txt")
    simulator = carried_out.Simulator("flow", str(plan_command.CONF), str(PROGRAMS), 600)
    simulated = simulator.run(tmp_path / "w.txt", topology, tmp_path / "run")
    assert found.total_ns == pytest.approx(simulated, rel=bound)


def test_what_computation_hides_is_hidden_of_the_longer_times_too(tmp_path):
    topology = pathlib.Path(generate("Clos2", gpu=32, gpu_type="H100", bandwidth="400Gbps", nics_per_leaf=8,
                                     oversubscription=4, output=tmp_path / "topology"))
    (whole, _), (half, _) = timed(topology, *DENSE), timed(topology, *DENSE, "--dp_overlap", 0.5)
    assert whole.total_ns - half.total_ns == pytest.approx(whole.parts["DP"] / 2)
    assert half.parts["TP"] == whole.parts["TP"]
