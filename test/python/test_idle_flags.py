# SPDX-License-Identifier: GPL-2.0-only
"""Every flag of the generators and the simulator changes what they write, is refused, or says that it has no effect."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from script_process import run_script

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SIMULATOR = pathlib.Path(os.environ["PROGRAM_DIR"]) / "SimAI_simulator"
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.topology.generator import command_line as topology  # noqa: E402
from clustersim.workload.command import (
    training_command as training,
    inference_command as inference,
    plan_command as plan,
)  # noqa: E402

DENSE = ["--model_name", "llama2_7b", "--num_layers", "4"]
EXPERTS = ["--model_name", "mixtral_8x7b", "--num_layers", "4"]
SERVING = ["--prefill_gpus", "8", "--decode_gpus", "8", "--tp", "4", "--requests", "20", "--rate", "400",
           "--prompt_tokens", "1000",
           "--output_tokens", "10"]
TRAINING = ["--world_size", "16", "--tp", "2", "--pp", "2", "--global_batch", "32"]
# Values of flags that take words.
WORDS = {"dtype": "fp8", "engine": "SGLang",
         "prefill_gpu_type": "H200", "decode_gpu_type": "H200",
         "gpu_type": "H200", "kernels": "roofline", "framework": "megatron_2025", "frame": "DeepSpeed",
         "recompute": "full",
         "moe_dispatcher": "deepep", "moe_dispatch_dtype": "fp8", "moe_imbalance": "zipf:1",
         **{f"{role}_moe_{name}": value for role in ("prefill", "decode")
            for name, value in (("dispatcher", "deepep"), ("dispatch_dtype", "fp8"))},
         "moe_flex_dispatcher_backend": "deepep",
         "pipeline_schedule": "dualpipe", "recompute_modules": "mlp", "lora_targets": "linear_qkv",
         "operator_dtype": "linear_qkv=fp8",
         "main_grads_dtype": "bf16", "grad_reduce_dtype": "bf16", "main_params_dtype": "bf16", "exp_avg_dtype": "bf16",
         "exp_avg_sq_dtype": "bf16", "keeps": "nanotron", "pipeline_model_parallel_layout": "Et*2|t*2L",
         "nv_latency": "0.001ms", "latency": "0.002ms", "bandwidth": "300Gbps", "ap_bandwidth": "300Gbps",
         "core_bandwidth": "300Gbps",
         "nvlink_bw": "300Gbps", "error_rate": "0.01", "dims": "2x8",
         "requests": "40", "rate": "800", "seed": "5", "shared_prefix_tokens": "100", "shared_prefixes": "3",
         "max_concurrency": "4", "burstiness": "0.5", "burst": "2", "turns": "3", "turn_tokens": "9", "think_ms": "5",
         "random_range_ratio": "0.1", "random_prefix_len": "64", "router": "random",
         "decode_router": "random", "ttft_limit_ms": "10", "tpot_limit_ms": "3", "e2e_limit_ms": "4",
         "max_model_len": "4096",
         "kv_transfer": "whole", "kv_layers_per_message": "2", "first_token": "prefill", "max_num_seqs": "64",
         "max_num_batched_tokens": "4096", "block_size": "32",
         "num_gpu_blocks": "1000", "enable_chunked_prefill": "0", "enable_mixed_batches": "1",
         "enable_prefix_caching": "1",
         "scheduling_policy": "shortest", "preemption_mode": "swap",
         "capacity_scheduler_policy": "guaranteed_no_evict", "swap_gbps": "20", "step_overhead_ns": "5000",
         "launch_ns": "1000", "frontend_ns": "2000000", "frontend_latency_ns": "3000000",
         "speculative_tokens": "2", "acceptance": "0.8", "draft_share": "0.1",
         "request_class": "chat share: 1", "max_queued": "5", "max_predicted_ttft_ms": "70", "max_wait_ms": "30",
         "trace_model": "a", "autoscale": "queue 8", "min_instances": "2", "autoscale_interval_s": "20",
         "scale_down_window_s": "60", "startup_s": "90", "weights_store_gpus": "8",
         "report_interval_ms": "10", "fail_instance": "0 3", "gpu_watts": "900",
         "host_cache_gb": "10", "nvme_cache_gb": "100", "remote_cache_gpus": "4", "remote_cache_gb": "100",
         "host_cache_gbps": "50", "nvme_cache_gbps": "5", "host_cache_latency_ns": "100",
         "nvme_cache_latency_ns": "100", "remote_cache_latency_ns": "100", "cache_load": "whole",
         "cudagraph_capture_sizes": "1,2,4", "time_scale": "2", "prompt_tokens": "99", "output_tokens": "99",
         "conf": "SimAI.conf", "gpu_hour": "3", "years": "3", "kwh": "3"}
# They name inputs or outputs, or the subject of the test is another one.
APART = {"help", "list_models", "output_dir", "output", "name", "model_name", "model_size", "config", "measured",
         "trace", "topology",
         "preset", "check", "aisimulate",
         "describe", "draw", "astra_network", "prices", "gpu_table", "against", "bin", "world_size"}
# They say what is so already: the plan fits and is sharded, the model is gated, the vocabulary divides, the mode is
# named.
ALREADY = {"force", "reserved_gb", "use_distributed_optimizer", "swiglu", "make_vocab_size_divisible_by", "inference",
           "workload_type",
           "kv_cache_dtype", "rail_optimized", "dual_tor", "gpus_per_server", "mesh"}


def values_of(action):
    if action.nargs == 0:
        return []
    if action.dest in WORDS:
        return [WORDS[action.dest]]
    if action.choices:
        return [str(next(choice for choice in action.choices if choice != action.default))]
    if action.type in (int, float):
        return [str(3 * (action.default or 1))]
    assert action.dest.startswith("no_effect"), f"--{action.dest}: expected a value in WORDS"
    return ["1"]


def outcome(run, arguments, path, capsys):
    """@return what a command wrote and printed, and what it said on standard error; nothing if it refused"""
    status = 2
    refusal = ""
    try:
        status = run([*arguments, "-o", str(path)]) or 0
    except InputError as error:
        refusal = str(error)
    printed, said = capsys.readouterr()
    said = "".join(line for line in said.splitlines(keepends=True) if " replaces the --" not in line) + refusal
    if status:
        return None, said
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {each.suffix: each.read_bytes() for each in files} | {"printed": printed.replace(str(path), "")}, said


def idle_flags(run, parser, arguments, path, capsys):
    """@return the flags that change nothing, without a word; none may be said to change nothing that does"""
    before, warned = outcome(run, arguments, path / "before", capsys)
    assert before is not None, warned
    idle = []
    for number, action in enumerate(parser._actions):
        if action.dest in APART | ALREADY or action.dest.startswith(
            "megatron_"
        ):  # test_megatron_lines.py has lines of Megatron-LM
            continue
        flag = action.option_strings[-1]
        after, said = outcome(run, [*arguments, flag, *values_of(action)], path / str(number), capsys)
        places = [place for place, word in enumerate(arguments) if word in action.option_strings]
        given = places and arguments[places[0]:places[0] + 1 + len(values_of(action))][1:] == values_of(action)
        if after == before and said == warned and not given:
            idle.append(flag)
        # A workload's description repeats what was asked for; its rows are what simulators see.
        changes = after is not None and after.get(".txt") != before.get(".txt")
        assert not (changes and f"--{action.dest} has no effect" in said), said
    return idle


@pytest.mark.parametrize("model", [DENSE, [*EXPERTS, "--sp"], [*EXPERTS, "--sp", "--ep", "4"]],
                         ids=["dense", "experts", "spread experts"])
@pytest.mark.parametrize("more", [[], ["--dtype", "fp8", "--layout", "aicb"], ["--recompute", "selective"]],
                         ids=["plain", "aicb", "selective"])
def test_of_training(tmp_path, capsys, model, more):
    def run(arguments):
        training.run(arguments, "")

    assert not idle_flags(run, training.make_parser(""), [*model, *TRAINING, *more, "--name", "w"], tmp_path, capsys)


@pytest.mark.parametrize("model", [DENSE, EXPERTS, [*EXPERTS, "--ep", "2"]], ids=["dense", "experts", "spread experts"])
def test_of_inference(tmp_path, capsys, model):
    assert not idle_flags(inference.run, inference.make_parser(), [*model, *SERVING, "--name", "w"], tmp_path, capsys)


@pytest.mark.parametrize("arguments", ["Spectrum-X -g 64 -psn 8", "AlibabaHPN -g 64", "FatTree -g 128", "Clos2 -g 64",
                                       "Clos3 -g 64",
                                       "Dragonfly -g 72 -gps 2", "Torus --dims 4x4 -gps 1 -nsps 0", "RailOnly -g 64"])
def test_of_topologies(tmp_path, capsys, arguments):
    def run(given):
        return topology.main(given, "")

    assert not idle_flags(run, topology.make_parser(""), ["-topo", *arguments.split()], tmp_path, capsys)


@pytest.mark.parametrize("flag, why", [("--network flow", "--simulate"), ("--conf x", "--simulate"),
                                       ("--time_limit 3", "--simulate"),
                                       ("--years 3", "--prices"), ("--kwh 3", "--prices")])
def test_of_plans_that_need_another(capsys, flag, why):
    parser = plan.make_parser("")
    plan.tell_idle(parser, parser.parse_args(["--model", "mixtral_8x7b", "--gpus", "8", *flag.split()]))
    assert capsys.readouterr().err == f"plan.py: warning: {flag.split()[0]} has no effect: it is for {why}\n"


def test_a_kind_of_network_that_is_not_known_is_refused_before_plans_are_looked_for(capsys, monkeypatch):
    monkeypatch.setattr(plan.plans, "candidates", lambda *_: pytest.fail("plans were looked for"))
    with pytest.raises(InputError, match="--network_kind is 'IB'; expected one of none, InfiniBand"):
        plan.run(["--model", "mixtral_8x7b", "--gpus", "8", "--network_kind", "IB"], "")


@pytest.mark.parametrize("name, words, flag, why", [
    ("hpcc_traffic", ["--topology", "t", "--sizes", "s", "--incast-bytes", "9"], "--incast-bytes",
     "it is for --incast-load"),
    ("report", ["no-run", "--no-plots", "--plots-of-each"], "--plots-of-each", "nothing is drawn"),
    ("why", ["no-run", "--no-confirm", "--program", "p"], "--program", "nothing is run")])
def test_of_other_commands(tmp_path, name, words, flag, why):
    done = run_script([REPOSITORY / f"scripts/{name}.py", *words], cwd=tmp_path)
    assert done.stderr.splitlines()[0] == f"{name}.py: warning: {flag} has no effect: {why}"


# Of the simulator; files are written by the test.
SIMULATED = {"simai-files": [], "system-configuration": ["system.json"],
             "logical-topology-configuration": ["logical.json"],
             "network-kind": ["EFA-p5"], "background-flows": ["flows.txt"], "timeline-ranks": ["2"],
             "collectives-limit": ["1"],
             "num-queues-per-dim": ["4"], "comm-scale": ["2"], "injection-scale": ["3"], "gpu-spread": ["0.05"],
             "rendezvous-protocol": ["true"],
             "passes": ["2"], "separate-passes": [], "tp": ["4"], "ep": ["2"], "pp": ["4"],
             "set": ["PACKET_PAYLOAD_SIZE=500"], "check": [],
             "pcap": ["0:1"], "fast-forward-memory": ["2"], "fast-forward-store": ["store"],
             "fast-forward-store-size": ["5"], "max-error": ["2%"],
             "timeline-limit": ["5"], "network-table": ["kinds.yaml"], "remote-memory-configuration": ["memory.json"],
             "comm-group-configuration": ["groups.json"], "thread": ["2"]}
# Inputs of each run and limits that it does not reach; a seed, where nothing is drawn; how fast, and not what, is
# simulated.
OF_EACH_RUN = {"help", "help-conf", "version", "workload", "network-topo", "network-conf", "network", "output",
               "network-configuration",
               "workload-configuration", "gpu-table", "resume", "replay", "progress", "progress-interval", "quiet",
               "max-time",
               "max-sim-time", "max-memory", "seed",
               "fast-forward", "fidelity", "ns3", "logging-configuration"}
SAME_RESULTS = {"thread", "check", "fast-forward-memory"}
FILES = {"train.txt": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 2 all_gpus: "
         "16 checkpoints: 0 "
                      "checkpoint_initiates: 0 pp_comm: 300000\n1\n"
         "l\t-1\t2000\tALLREDUCE\t2000000\t2000\tNONE\t0\t2000\tALLREDUCE\t2000000\t100\n",
         "micro.txt": "2 ALLREDUCE 1000000 DP\n", "flows.txt": "1\n0 9 3 100 10000000 0\n",
         "kinds.yaml": "- {name: X, like: RoCE}\n",
         "system.json": '{"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"]}',
         "logical.json": '{"logical-dims": ["4", "4"]}',
         "memory.json": '{"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 100, "remote-mem-bw": 10}',
         "groups.json": "{}"}


def simulate(path, *words):
    """@return exit status, what is said on standard error, and the files of a run"""
    directory = path / f"out-{sum(1 for _ in path.iterdir())}"
    done = subprocess.run([SIMULATOR, "-q", "-o", directory, *words], cwd=path, capture_output=True, text=True,
                          check=False)
    files = {each.relative_to(directory): each.read_bytes() for each in directory.rglob("*") if each.is_file()
             and each.name != "run.json"}
    return done.returncode, done.stderr, files


def write_inputs(path):
    for name, text in FILES.items():
        (path / name).write_text(text)
    run_script([REPOSITORY / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100",
                "-psn", "8", "-o",
                path / "topology"], check=True)


CLASSES = ["RdmaHw", "RdmaDriver", "RdmaFabric", "RdmaGoBackN", "RdmaIrn", "RdmaDcqcn", "RdmaHpcc", "RdmaHpccPint",
           "RdmaTimely", "RdmaSwift",
           "RdmaDctcp", "SwitchNode", "SwitchMmu", "NVSwitchNode", "QbbNetDevice", "PfcWatchdog", "FlowletRouting",
           "LinkEngine"]


def another(value):
    """@return a value of an attribute other than its default, as text"""
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    number = re.fullmatch(r"\+?([\d.e+-]+)(ps|bps|)", value)
    if number:
        half = float(number[1]) / 2
        return f"{half if half < 1 and '.' in number[1] else int(half) or 2}{number[2]}"
    return {"ns3::RdmaDcqcn": "ns3::RdmaHpcc", "ns3::EcmpRouting": "ns3::SprayRouting",
            "ns3::RdmaGoBackN": "ns3::RdmaIrn"}.get(value)


@pytest.mark.parametrize("network", ["flow", "analytical"])
def test_of_attributes_without_packets(tmp_path, network):
    """Each changes results, is refused, or is said to have no effect; none that has one is said to have none."""
    write_inputs(tmp_path)
    common = ["-w", "train.txt", "-n", "topology", "--network", network]
    before = simulate(tmp_path, *common)
    assert before[0] == 0
    # They change something with link events, other switches, NVLink headers of other sizes, or random draws.
    seldom = {"RouteUpdateDelay", "EcmpSeed", "AckInterval", "ErrorRatePerLink", "PersistentQueuePairs",
              "RoutingPolicyType", "NvlinkOverhead", "AckBytes", "QpsPerConnection"}
    tried = 0
    for each in CLASSES:
        text = subprocess.run([SIMULATOR, "--PrintAttributes", f"ns3::{each}"], capture_output=True, text=True,
                              check=True).stdout
        for name, value in re.findall(r"^--(ns3::\S+?)=(.*)$", text, re.MULTILINE):
            if name.split("::")[-1] in seldom or not another(value):
                continue
            tried += 1
            status, said, files = simulate(tmp_path, *common, f"--{name}={another(value)}")
            idle = f"--{name}={another(value)} has no effect with --network {network}" in said
            if status == 0 and not name.endswith("TelemetryBytes"):
                assert idle == (files == before[2]), f"{name} {said}"
    assert tried > 100


# A value of each key, and keys with which it changes something where packets are simulated.
KEYS = {
    "TOPOLOGY_FILE": ["network"], "FLOW_FILE": ["incast.txt"], "TRACE_FILE": ["nodes.txt", "ENABLE_TRACE=1"],
    "TRACE_OUTPUT_FILE": ["a", "ENABLE_TRACE=1", "TRACE_FILE=nodes.txt"], "FCT_OUTPUT_FILE": ["a"],
    "PFC_OUTPUT_FILE": ["a"],
    "QLEN_MON_FILE": ["a"], "BW_MON_FILE": ["a"], "RATE_MON_FILE": ["a"], "CNP_MON_FILE": ["a"],
    "ENABLE_TRACE": ["1", "TRACE_FILE=nodes.txt"],
    "SIMULATOR_STOP_TIME": ["0.00001"], "KMAX": ["20000", "KMIN=1000"], "KMIN": ["1000", "KMAX=50000"],
    "PMAX": ["1", "KMIN=1000", "KMAX=900000"], "KMAX_MAP": ["1 100000000000 20", "KMIN_MAP=1 100000000000 1"],
    "KMIN_MAP": ["1 100000000000 1"], "PMAX_MAP": ["1 100000000000 1", "KMIN_MAP=1 100000000000 1",
                                                   "KMAX_MAP=1 100000000000 900"],
    "ENABLE_QCN": ["0"], "ECN_ENABLED": ["0"], "USE_DYNAMIC_PFC_THRESHOLD": ["0"], "BUFFER_SIZE": ["2"],
    "SWITCH_MODEL": ["Tomahawk5", "BUFFER_SIZE=2"],
    "BUFFER_POLICY": ["static"], "TRANSPORT": ["UEC"], "UEC_DELIVERY": ["rod", "TRANSPORT=UEC"],
    "UEC_SPREADING": ["reps", "TRANSPORT=UEC"], "UEC_CC": ["rccc", "TRANSPORT=UEC"],
    "ERROR_RATE_PER_LINK": ["0.001"],
    "ROUTING": ["spray"], "IN_NETWORK_REDUCTION": ["1"],
    "IN_NETWORK_TREES": ["4", "IN_NETWORK_REDUCTION=1"], "IN_NETWORK_OPERATIONS": ["4", "IN_NETWORK_REDUCTION=1"],
    "ROUTING_AT": ["spray asw"], "PLANE": ["TP 0"],
    "COLLECTIVE_ENGINE": ["ACCL"],
    "LINK_DOWN": ["1 8 10"], "LINK_UP": ["9 8 10", "LINK_DOWN=1 8 10"], "NODE_DOWN": ["1 10"],
    "NODE_UP": ["9 10", "NODE_DOWN=1 10"], "LINK_RATE": ["1 8 10 1Gbps"],
    "QUEUE_WEIGHT": ["4 5"], "PAUSE_TIME": ["9", "BUFFER_SIZE=2"],
    "PFC_WATCHDOG": ["20", "BUFFER_SIZE=4", "NIC_TOTAL_PAUSE_TIME=100"],
    "PFC_WATCHDOG_ACTION": ["drop", "PFC_WATCHDOG=20", "NIC_TOTAL_PAUSE_TIME=100"], "PACKET_PAYLOAD_SIZE": ["500"],
    "L2_CHUNK_SIZE": ["9000", "L2_BACK_TO_ZERO=1", "ERROR_RATE_PER_LINK=0.001"], "L2_ACK_INTERVAL": ["9000"],
    "L2_BACK_TO_ZERO": ["1", "ERROR_RATE_PER_LINK=0.001"],
    "ACK_HIGH_PRIO": ["1", "NIC_TOTAL_PAUSE_TIME=100"],
    "LOSS_RECOVERY": ["irn", "ERROR_RATE_PER_LINK=0.001"], "REORDER_FRAMES": ["1", "ROUTING=spray"],
    "REORDER_TIME": ["50", "ROUTING=spray", "ERROR_RATE_PER_LINK=0.001"],
    "RTO": ["40", "ERROR_RATE_PER_LINK=0.001"], "QPS_PER_CONNECTION": ["2"], "QP_MODE": ["persistent"],
    "MESSAGE_DELIVERY": ["acknowledged"],
    "NIC_TOTAL_PAUSE_TIME": ["20"], "CC_MODE": ["3"], "HAS_WIN": ["0"], "GLOBAL_T": ["1"], "VAR_WIN": ["0"],
    "RATE_BOUND": ["0"],
    "FAST_REACT": ["0", "CC_MODE=3"], "ALPHA_RESUME_INTERVAL": ["9"], "RATE_DECREASE_INTERVAL": ["50"],
    "RP_TIMER": ["9"],
    "CLAMP_TARGET_RATE": ["1"], "EWMA_GAIN": ["0.9"], "FAST_RECOVERY_TIMES": ["0", "RP_TIMER=9"],
    "RATE_AI": ["9Gb/s", "CC_MODE=3"],
    "RATE_HAI": ["90Gb/s", "RP_TIMER=2", "FAST_RECOVERY_TIMES=0"], "MIN_RATE": ["100Gb/s"],
    "DCTCP_RATE_AI": ["9Gb/s", "CC_MODE=8"],
    "DCTCP_GAIN": ["0.9", "CC_MODE=8"], "U_TARGET": ["0.5", "CC_MODE=3"], "MI_THRESH": ["0", "CC_MODE=3"],
    "INT_MULTI": ["4"],
    "MULTI_RATE": ["1", "CC_MODE=3"], "SAMPLE_FEEDBACK": ["1", "CC_MODE=3"], "PINT_LOG_BASE": ["1.5", "CC_MODE=10"],
    "PINT_PROB": ["0.1", "CC_MODE=10"], "MON_START": ["10"], "MON_END": ["50", "QLEN_MON_INTERVAL=3"],
    "QP_MON_INTERVAL": ["3"],
    "QLEN_MON_INTERVAL": ["3"], "BW_MON_INTERVAL": ["3"], "QLEN_MON_START": ["10", "QLEN_MON_INTERVAL=3"],
    "QLEN_MON_END": ["20", "QLEN_MON_INTERVAL=3"], "GPUS_PER_SERVER": ["4"], "SEED": ["7", "ROUTING=random-spray"],
    "LB_MODE": ["6"],
    "LINK_RETRY": ["1", "ERROR_RATE_PER_LINK=0.001"], "LINK_RETRY_BUFFER": ["12000", "LINK_RETRY=1"],
    "LINK_RETRY_TIMEOUT": ["9", "LINK_RETRY=1", "ERROR_RATE_PER_LINK=0.01"], "LINK_CREDITS": ["30000"],
    "ENABLE_IRN": ["1", "ERROR_RATE_PER_LINK=0.001"], "ENABLE_PFC": ["0", "BUFFER_SIZE=2"],
    "RANDOM_SEED": ["7", "ERROR_RATE_PER_LINK=0.001"],
    "LINK_RETRY_AT": ["1 hosts", "ERROR_RATE_PER_LINK=0.001"], "LINK_CREDITS_AT": ["30000 switches"],
    "CNP_OUTPUT_FILE": ["a"], "SW_MONITORING_INTERVAL": ["3000"],
    "FLOWGEN_START_TIME": ["0.00001", "QLEN_MON_INTERVAL=3"], "FLOWGEN_STOP_TIME": ["0.00002", "QLEN_MON_INTERVAL=3"]}
# Of other simulators, without an equal here.
WITHOUT_EQUAL = ["L2_WAIT_FOR_ACK", "DATA_RATE", "LINK_DELAY", "LOAD", "CONWEAVE_TX_EXPIRY_TIME",
                 "CONWEAVE_REPLY_TIMEOUT_EXTRA", "CONWEAVE_EXTRA_VOQ_FLUSH_TIME", "CONWEAVE_PATH_PAUSE_TIME",
                 "CONWEAVE_DEFAULT_VOQ_WAITING_TIME", "FLOW_INPUT_FILE", "UPLINK_MON_FILE", "CONN_MON_FILE",
                 "EST_ERROR_MON_FILE", "VOQ_MON_FILE", "VOQ_MON_DETAIL_FILE"]
KEYS.update({key: ["1"] for key in WITHOUT_EQUAL})
# They change something on other topologies, with other workloads and with link failures; MONITOR needs a class of
# the user's.
SELDOM = {"packet": {"USE_DYNAMIC_PFC_THRESHOLD", "BUFFER_POLICY", "PLANE", "GPUS_PER_SERVER", "MONITOR",
                     "IN_NETWORK_TREES", "IN_NETWORK_OPERATIONS"},
          "flow": {"PLANE", "QP_MODE", "GPUS_PER_SERVER", "MONITOR"},
          "analytical": {"PLANE", "GPUS_PER_SERVER", "MONITOR"}}
SAYS_MORE = {"ERROR_RATE_PER_LINK": "error rates have no effect", "LB_MODE": " has no ",  # effect, or gaps in flows
             **{key: f"{key} is accepted and has no effect" for key in WITHOUT_EQUAL}}


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_of_keys_of_the_configuration(tmp_path, network):
    """Each changes results, is refused, or is said to have no effect; none that has one is said to have none."""
    links = [(host, 8 + host // 4) for host in range(8)] + [(leaf, spine) for leaf in (8, 9) for spine in (10, 11)]
    (tmp_path / "network").write_text(f"12 1 0 4 {len(links)} H100\n8 9 10 11\n"
                                      + "".join(f"{a} {b} 100Gbps 0.001ms 0\n" for a, b in links))
    (tmp_path / "micro.txt").write_text("1 ALLTOALL 1600000 TP\n1 ALLREDUCE 800000 DP\n")
    (tmp_path / "incast.txt").write_text("6\n" + "".join(f"{host} 7 {3 + host // 4} 100 1000000 0\n"
                                                         for host in (0, 1, 2, 4, 5, 6)))
    (tmp_path / "nodes.txt").write_text("2\n0 1\n")
    text = subprocess.run([SIMULATOR, "--help-conf"], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  (\w+) ", text, re.MULTILINE)) == {*KEYS, "MONITOR"}
    common = ["-w", "micro.txt", "-n", "network", "--tp", "4", "--network", network]
    common += ["--background-flows", "incast.txt"] if network == "packet" else []
    bases = {}
    wrong = []
    for key, (value, *others) in KEYS.items():
        with_others = [word for other in others for word in ("--set", other)]
        if tuple(others) not in bases:
            bases[tuple(others)] = simulate(tmp_path, *common, *with_others)
        base_status, _, before = bases[tuple(others)]
        status, said, files = simulate(tmp_path, *common, *with_others, "--set", f"{key}={value}")
        changes = (status, files) != (base_status, before)
        idle = SAYS_MORE.get(key, f": {key} has no effect") in said
        if status != 2 and (idle and changes or not idle and not changes and key not in SELDOM[network]):
            wrong.append((key, said))
    assert not wrong


BUS = {"L": 10, "o": 10, "g": 10, "G": 0.01}
# Keys that a system file has before, and the value of the key that is added.
SYSTEM_KEYS = {"endpoint-delay": ({}, 5000), "preferred-dataset-splits": ({}, 4),
               "collective-optimization": ({}, "localBWAware"),
               "local-mem-bw": ({}, 100), "model-shared-bus": (BUS, 1), "local-reduction-delay": ({}, 5),
               "replay-only": ({}, 1), "roofline-enabled": ({"peak-perf": 100, "local-mem-bw": 50}, 1)}


@pytest.mark.parametrize("key", SYSTEM_KEYS)
@pytest.mark.parametrize("native", [False, True])
def test_of_keys_of_system_files(tmp_path, key, native):
    """A key changes results or is said to have no effect, not both. ASTRA-sim's own files have a peak-perf that nothing
    asks for."""
    write_inputs(tmp_path)
    common = ["-w", "micro.txt", "--tp", "1", "-n", "topology", "--network", "flow", "--logical-topology-configuration",
              "logical.json",
              "--system-configuration"]
    more, value = SYSTEM_KEYS[key]
    plain = more | ({"all-reduce-implementation": ["ring", "ring"]} if native else {})
    (tmp_path / "plain.json").write_text(json.dumps(plain))
    (tmp_path / "more.json").write_text(json.dumps(plain | {key: value}))
    before, after = (simulate(tmp_path, *common, name) for name in ("plain.json", "more.json"))
    assert (before[0], after[0]) == (0, 0)
    assert (after[2] == before[2]) == (f"{key} has no effect" in after[1]), after[1]


@pytest.mark.parametrize("workload", ["train.txt", "micro.txt"])
@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_of_the_simulator(tmp_path, network, workload):
    write_inputs(tmp_path)
    text = subprocess.run([SIMULATOR, "--help"], capture_output=True, text=True, check=True).stdout
    flags = set(re.findall(r"^  (?:-\w+, )*--([a-z0-9-]+)", text, re.MULTILINE)) - OF_EACH_RUN
    assert flags == set(SIMULATED), "each flag is tried, or is one of each run"

    def results(*more):
        return simulate(tmp_path, "-w", workload, "-n", "topology", "-c", REPOSITORY / "conf/SimAI.conf", "--network",
                        network, *more)

    before = results()
    assert before[0] == 0
    idle = [flag for flag in sorted(flags - SAME_RESULTS) if results(f"--{flag}", *SIMULATED[flag]) == before]
    assert not idle
