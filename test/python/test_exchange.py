# SPDX-License-Identifier: GPL-2.0-only
"""Tokens on their way to experts: which bytes cross servers, how long DeepEP takes, and what uneven experts cost."""
import csv
import gzip
import itertools
import os
import pathlib
import statistics
import subprocess
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.results import Run  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.plan import deepep, exchange  # noqa: E402
from clustersim.workload.plan.exchange import Exchange  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism, check  # noqa: E402
from clustersim.workload.training import megatron  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", REPOSITORY / "bin"))
MEASURED = OTHERS_FILES / "collectives/deepep.csv.gz"
MIXTRAL = catalogue.find("mixtral_8x7b").copy(update={"layers": 1})
DEEPSEEK = catalogue.find("deepseek_v3")
H100 = gpus.find("H100")


def plan(**changes):
    return Parallelism(**{"world_size": 8, "ep": 8, "micro_batch": 1, "global_batch": 8, "sequence": 512, "zero": 1,
                          **changes})


def rows(model, shape):
    kind = model.layer_kind(model.layers - 1)
    return {row.name: row for row in megatron.Iteration(model, shape, gpus.find("H100"))._layer(kind, False)}


def remote_servers(servers, experts, topk, limit=0):
    """@return other servers that a token is sent to, over all choices that node-limited routing allows and all servers
    of the token"""
    each = experts // servers
    counts = []
    for allowed in itertools.combinations(range(servers), limit or servers):
        for chosen in itertools.combinations([server * each + i for server in allowed for i in range(each)], topk):
            distinct = {expert // each for expert in chosen}
            counts += [len(distinct - {own}) for own in range(servers)]
    return statistics.mean(counts)


@pytest.mark.parametrize("servers, experts, topk, limit",
                         [(2, 8, 2, 0), (4, 8, 3, 0), (4, 8, 3, 2), (8, 16, 4, 3), (1, 8, 2, 0), (4, 4, 1, 0)])
def test_a_token_crosses_to_each_server_of_its_experts_once(servers, experts, topk, limit):
    assert exchange.distinct(servers, experts, topk,
                             limit) * (servers - 1) / servers == pytest.approx(remote_servers(servers, experts, topk,
                                 limit))


def test_bytes_that_cross_are_those_of_distinct_servers():
    deep = plan(exchange=Exchange("deepep", gpus_per_server=4))
    found = rows(MIXTRAL, deep)
    # An AllToAll among 8 ranks sends 4 of 8 parts to the other server.
    assert found["mlp_dispatch"].forward.bytes * 4 / 8 == pytest.approx(512 * 4096 * 2 * remote_servers(2, 8, 2))
    assert rows(MIXTRAL, plan())["mlp_dispatch"].forward.bytes == 512 * 4096 * 2 * 2


def test_deepseeks_limit_of_four_servers_and_eight_bits_cut_the_network_to_a_fifth():
    def crossing(**habits):
        shape = plan(world_size=64, ep=64, global_batch=64, exchange=Exchange(gpus_per_server=8, **habits))
        return rows(DEEPSEEK, shape)["mlp_dispatch"].forward.bytes
    few = crossing(dispatcher="deepep", node_limit=4, dispatch_bytes=exchange.BYTES["fp8"])
    assert few / crossing() == pytest.approx(exchange.distinct(8, 256, 8, 4) / 8 * (1 + 4 / 128) / 2, rel=1e-6)
    assert crossing(dispatcher="deepep", node_limit=4) < 0.5 * crossing(dispatcher="deepep_ll") == 0.5 * crossing()


def test_only_dispatches_have_eight_bits_forward_and_backward():
    found = rows(MIXTRAL, plan(exchange=Exchange(dispatch_bytes=exchange.BYTES["fp8"])))
    dispatch, combine = found["mlp_dispatch"], found["mlp_combine"]
    assert dispatch.forward.bytes == combine.input.bytes == 512 * 4096 * 2 * (1 + 4 / 128)
    assert dispatch.input.bytes == combine.forward.bytes == 512 * 4096 * 2 * 2


def crossing_in_network(directory):
    """@return bytes of flows between the servers of four GPUs"""
    flows = Run(directory).flows
    return int(flows["bytes"][flows["src"] // 4 != flows["dst"] // 4].sum())


def test_the_simulated_network_carries_what_the_closed_form_says(tmp_path):
    run_script([REPOSITORY / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "8", "-gps", "4", "-gt",
                "H100", "-bw", "400Gbps",
                "-psn", "2", "-o", f"{tmp_path}/"])
    [topology] = tmp_path.iterdir()
    for name in ("alltoall", "deepep"):
        done = run_script([REPOSITORY / "scripts/workload.py", "--model", "mixtral_8x7b", "--num_layers", "1",
                           "--world_size", "8", "--ep", "8",
                           "--seq_length", "512", "--global_batch", "8", "--moe_gpus_per_server", "4",
                           "--moe_dispatcher", name, "--force",
                           "-o", tmp_path / "w", "--name", name])
        assert done.returncode == 0, done.stderr
        subprocess.run([PROGRAMS / "SimAI_simulator", "-w", tmp_path / f"w/{name}.txt", "-n", topology, "--network",
                        "flow",
                        "-o", tmp_path / name, "--quiet"], check=True)
    # Two exchanges forward and two backward, of 8 GPUs; one by one each of two choices crosses with probability 1/2.
    expected = 8 * 4 * 512 * 4096 * 2 * (2 / 2 - remote_servers(2, 8, 2))
    saved = crossing_in_network(tmp_path / "alltoall") - crossing_in_network(tmp_path / "deepep")
    assert saved == pytest.approx(expected, rel=1e-5)


# -- uneven experts

def test_zipf_is_seeded_and_keeps_the_mean():
    loads = exchange.zipf(256, 0.8, 7)
    assert loads == exchange.zipf(256, 0.8, 7) != exchange.zipf(256, 0.8, 8)
    assert sum(loads) == pytest.approx(256) and max(loads) / sorted(loads)[-2] == pytest.approx(2 ** 0.8)
    assert exchange.zipf(8, 0, 1) == (1,) * 8


def test_the_fullest_rank_decides():
    loads = (2.0, 1.0, 0.5, 0.5, 1.5, 1.5, 0.5, 0.5)
    uneven = Exchange(loads=loads)
    assert uneven.slowest(8, 8) == 2 and uneven.slowest(8, 4) == 1.5 and uneven.slowest(8, 1) == 1
    even, bent = plan(ep=4), plan(ep=4, exchange=uneven)
    assert rows(MIXTRAL, bent)["mlp_dispatch"].forward.bytes == 1.5 * rows(MIXTRAL, even)["mlp_dispatch"].forward.bytes

    def arriving(shape):
        return next(o.shape[0] for o in operators.experts(MIXTRAL, shape))
    assert arriving(bent) == 1.5 * arriving(even) == 1.5 * 512 * 4 * 2 / 8


def test_capacity_drops_the_rest_and_padding_computes_it_all():
    loads = (4.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    limited = Exchange(loads=loads, capacity=1.5)
    assert limited.slowest(8, 8) == limited.computed(8, 8) == 1.5
    assert limited.dropped(8) == pytest.approx((2.5 + 0.5) / 8)
    assert Exchange(loads=loads, capacity=1.5, padded=True).computed(8, 1) == 1.5 and limited.computed(8, 1) == 5 / 8
    assert Exchange().computed(8, 8) == 1 and Exchange(loads=loads).dropped(8) == 0


@pytest.mark.parametrize("shape", [dict(), dict(world_size=16, pp=2, global_batch=32), dict(ep=4)])
def test_uneven_experts_take_longer_and_compute_as_much_in_all(shape):
    loads = (4.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    work, times = {}, {}
    for name, sent in (("even", Exchange()), ("uneven", Exchange(loads=loads)),
                       ("roomy", Exchange(loads=loads, capacity=4.0)),
                       ("dropped", Exchange(loads=loads, capacity=1.5)), ("half", Exchange(capacity=0.625))):
        job = megatron.Iteration(MIXTRAL.copy(update={"layers": 2}), plan(exchange=sent, **shape), H100)
        work[name], times[name] = job.flops(), job.compute_ns(0)
    assert work["uneven"] == work["roomy"] == work["even"] and times["uneven"] == times["roomy"] > times["even"]
    assert work["dropped"] == work["half"] < work["even"]  # 1.5 + 1.5 + 1 + 1 of 8 are computed


def test_padding_computes_the_capacity_however_uneven_experts_are():
    even, uneven = (megatron.Iteration(MIXTRAL, plan(exchange=Exchange(loads=loads, capacity=1.5, padded=True)),
                                       H100).flops()
                    for loads in ((), (4.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)))
    assert even == uneven > megatron.Iteration(MIXTRAL, plan(), H100).flops()


def test_a_histogram_has_a_line_for_each_expert(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("# layer 3\n30\n10\n\n40\n0\n")
    assert exchange.read_loads(path, 4) == (1.5, 0.5, 2.0, 0.0)
    with pytest.raises(InputError, match="4 numbers; expected one for each of 8 experts"):
        exchange.read_loads(path, 8)
    path.write_text("3\n-1\n")
    with pytest.raises(InputError, match='tokens.txt:2: "-1" is not a valid number of tokens; expected'):
        exchange.read_loads(path, 2)


@pytest.mark.parametrize("flags, problem", [
    (["--moe_dispatcher", "allgather"], '--moe_dispatcher "allgather" is not supported; expected alltoall, flex, '
     'deepep, deepep_ll'),
    (["--moe_imbalance", "zipf:x"], "expected zipf:EXPONENT"), (["--moe_dispatch_dtype", "int4"], "expected bf16"),
    (["--moe-pad-expert-input-to-capacity"], "expected --moe_capacity_factor"),
    (["--moe-flex-dispatcher-backend", "deepep"], "expected flex with deepep"),
    (["--moe_node_limit", "1", "--moe_gpus_per_server", "2", "--moe_router_topk", "3"],
     "too few for 3 of a token; expected a higher limit")])
def test_flags_that_cannot_be_are_refused_in_a_line(tmp_path, flags, problem):
    done = run_script([REPOSITORY / "scripts/workload.py", "--model", "mixtral_8x7b", "--num_layers", "1",
                       "--world_size", "8", "--ep", "8",
                       "--force", "-o", tmp_path, *flags])
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_megatrons_spellings_mean_the_same(tmp_path):
    common = [REPOSITORY / "scripts/workload.py", "--model", "mixtral_8x7b", "--num_layers", "1", "--world_size", "32",
              "--ep", "8", "--tp", "4", "--sp",
              "--force", "-o", tmp_path]
    for name, flags in (("ours", ["--moe_dispatcher", "deepep", "--moe_node_limit", "3"]),
                        ("megatrons", ["--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "deepep",
                                       "--moe-router-group-topk", "3"])):
        done = run_script([*common, "--name", name, *flags])
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "ours.txt").read_text() == (tmp_path / "megatrons.txt").read_text()


def test_a_limit_that_leaves_too_few_experts_is_refused():
    with pytest.raises(InputError, match="8 servers share 256 experts"):
        check(DEEPSEEK.copy(update={"experts_per_token": 40}),
              plan(world_size=64, ep=64, global_batch=64, exchange=Exchange("deepep", node_limit=1)))


# -- DeepEP's kernels

def test_normal_kernels_are_bound_by_what_is_slowest():
    group, many = deepep.Group(servers=4), 1_000_000
    token = 7168 * deepep.BF16
    crossing = token * exchange.distinct(4, 256, 8, 4) * 3 / 4
    assert deepep.time_ns("normal", "combine", group, 7168, many, 8, 256,
                          sms=24) == pytest.approx(many * crossing / (50 * 0.95), rel=0.01)
    few, more = (deepep.time_ns("normal", "combine", group, 7168, many, 8, 256, sms=sms) for sms in (2, 4))
    assert few / more == pytest.approx(2, rel=0.01)


NVLINK = {"h100_sxm": 450, "b200_sxm": 900, "b300_sxm": 900, "gb200": 900}
# Median of |estimate / measurement - 1|: (mode, servers, system): dispatch, combine. Constants come from one and two
# servers of H100.
ERRORS = {("normal", 1, "h100_sxm"): (0.05, 0.08), ("normal", 2, "h100_sxm"): (0.09, 0.08),
          ("normal", 4, "h100_sxm"): (0.23, 0.14),
          ("normal", 8, "h100_sxm"): (0.53, 0.23), ("normal", 1, "b200_sxm"): (0.22, 0.10),
          ("normal", 1, "gb200"): (0.21, 0.16),
          ("ll", 1, "h100_sxm"): (0.29, 0.13), ("ll", 2, "h100_sxm"): (0.08, 0.06), ("ll", 4, "h100_sxm"): (0.07, 0.05),
          ("ll", 8, "h100_sxm"): (0.07, 0.04)}


@pytest.mark.others_files
def test_times_are_those_that_were_measured():
    off = {}
    with gzip.open(MEASURED, "rt") as file:
        for row in csv.DictReader(file):
            mode, system, servers = row["mode"], row["system"], int(row["node_num"])
            group = deepep.Group(servers, 4 if system == "gb200" else 8, NVLINK[system], 50)
            for number, phase in enumerate(("dispatch", "combine")):
                measured = float(row[f"{phase}_transmit_us"] if mode == "normal" else row[f"{phase}_avg_t_us"]) * 1e3
                ours = deepep.time_ns(mode, phase, group, int(row["hidden_size"]), int(row["num_token"]),
                                      int(row["num_topk"]),
                                      int(row["num_experts"]), float(row[f"{phase}_sms"] or 24))
                off.setdefault((mode, servers, system), ([], []))[number].append(abs(ours / measured - 1))
    for key, most in ERRORS.items():
        assert all(statistics.median(errors) < limit for errors, limit in zip(off[key], most)), (key,
            list(map(statistics.median, off[key])))
