# SPDX-License-Identifier: GPL-2.0-only
"""Twenty small runs that together pass through every part of the packet path, and what to compare
of them. Used by compare_builds.py and by test/python/test_equivalent_paths.py."""
import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]

HEADER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: 1 vpp: 1 ga: 1 "
          "all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0\n")

WORKLOADS = {
    "mixed": (2, 1, [("NONE", 0, "ALLREDUCE", 1 << 20), ("ALLREDUCE", 600_000, "NONE", 0),
                     ("ALLGATHER", 300_000, "REDUCESCATTER", 500_001)]),
    "experts": (1, 16, [("ALLTOALL_EP", 700_000, "NONE", 0), ("NONE", 0, "ALLREDUCE", 333_333)]),
    "tensor": (8, 1, [("ALLREDUCE", 3 << 20, "NONE", 0), ("NONE", 0, "ALLREDUCE", 1 << 20)]),
    "short": (1, 1, [("NONE", 0, "ALLREDUCE", 70_000), ("NONE", 0, "ALLREDUCE", 9)]),
}


def write_workload(path, name, gpus=16):
    """Writes one of WORKLOADS as a workload file."""
    tp, ep, layers = WORKLOADS[name]
    rows = [f"layer{i}\t-1\t1000\t{fwd}\t{fwd_bytes}\t1\tNONE\t0\t1\t{grad}\t{grad_bytes}\t1\n"
            for i, (fwd, fwd_bytes, grad, grad_bytes) in enumerate(layers)]
    path.write_text(HEADER.format(tp=tp, ep=ep, gpus=gpus) + f"{len(rows)}\n" + "".join(rows))
    return path


def link(a, b, gbps, delay_ps):
    """A line of a topology file, whose rate and delay no other link has: then hardly two events that touch each
    other fall on the same picosecond, and results do not depend on the order of such."""
    number = 97 * a + b
    return f"{a} {b} {gbps * (1 - number % 101 / 1e4):.6f}Gbps {(delay_ps + 7 * number) / 1e9:.9f}ms 0"


def write_rails(path, servers=2, gpus=8, nvlink=2400, nic=100, spine=200):
    """Writes servers with an NVSwitch each, a switch per pair of rails, and two spines; rates in Gb/s."""
    total = servers * gpus
    rails = [total + servers + i for i in range(gpus // 2)]
    spines = [rails[-1] + 1, rails[-1] + 2]
    lines = []
    for gpu in range(total):
        lines.append(link(gpu, total + gpu // gpus, nvlink, 25_000))
        lines.append(link(gpu, rails[gpu % gpus // 2], nic, 500_000))
    lines += [link(rail, top, spine, 500_000) for rail in rails for top in spines]
    switches = " ".join(str(node) for node in range(total, spines[-1] + 1))
    path.write_text(f"{spines[-1] + 1} {gpus} {servers} {len(rails) + 2} {len(lines)} A100\n"
                    f"{switches}\n" + "\n".join(lines) + "\n")
    return path


def write_star(path, hosts=16, gbps=100, delay_ps=1_000_000):
    """Writes hosts around one switch."""
    lines = [f"{hosts + 1} 1 {hosts}", str(hosts)] + [link(hosts, host, gbps, delay_ps) for host in range(hosts)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_incast(path, hosts=16):
    """Writes a flow file: everybody to host 0, and crosswise, of several sizes and priorities."""
    flows = [(src, 0, 3, 800_000 + 999 * src, 1e-6 * (src % 3)) for src in range(1, hosts)]
    flows += [(src, hosts - 1 - src, 3 + src % 2, 50_000, 5e-6) for src in range(hosts // 2)]
    flows.sort(key=lambda flow: flow[4])
    path.write_text(f"{len(flows)}\n" + "".join(
        f"{src} {dst} {priority} 100 {size} {start:.9f}\n" for src, dst, priority, size, start in flows))
    return path


MARK_EARLY = ["KMIN=20000", "KMAX=80000", "PMAX=0.5"]
SMALL_BUFFER = ["BUFFER_SIZE=2500000", "HAS_WIN=0"]

SAMPLES = ["QLEN_MON_INTERVAL=2", "BW_MON_INTERVAL=5", "QP_MON_INTERVAL=5"]

#: name: (configuration, workload, topology, keys, whether other flows run beside)
CONFIGURATIONS = {
    "dcqcn": ("SimAI", "mixed", "rails", [], False),
    "dcqcn-small-frames": ("SimAI", "mixed", "rails", ["PACKET_PAYLOAD_SIZE=1000"], False),
    "dcqcn-star": ("SimAI", "experts", "star", [], False),
    "dcqcn-star-marks": ("SimAI", "experts", "star", ["PACKET_PAYLOAD_SIZE=1000", *MARK_EARLY], True),
    "dcqcn-marks": ("DCQCN", "experts", "rails", ["PACKET_PAYLOAD_SIZE=2000", *MARK_EARLY], True),
    "dcqcn-tensor": ("SimAI", "tensor", "rails", [], False),
    "dcqcn-short": ("SimAI", "short", "rails", [], False),
    "hpcc": ("HPCC", "mixed", "rails", ["PACKET_PAYLOAD_SIZE=1000"], True),
    "hpcc-pint": ("HPCC-PINT", "experts", "rails", [], True),
    "timely": ("TIMELY", "experts", "rails", [], True),
    "dctcp": ("DCTCP", "mixed", "star", MARK_EARLY, True),
    "swift": ("Swift", "experts", "rails", [], True),
    "pauses": ("none", "experts", "rails", [*SMALL_BUFFER, "PACKET_PAYLOAD_SIZE=4000"], True),
    "pauses-star": ("none", "experts", "star", SMALL_BUFFER, True),
    "pauses-that-expire": ("none", "experts", "star",
                           [*SMALL_BUFFER, "PAUSE_TIME=1", "ACK_HIGH_PRIO=1", "PACKET_PAYLOAD_SIZE=1500"], True),
    "loss-go-back-n": ("SimAI", "experts", "rails", ["ERROR_RATE_PER_LINK=0.001", "RTO=200"], True),
    "loss-irn": ("SimAI", "mixed", "rails",
                 ["ERROR_RATE_PER_LINK=0.001", "LOSS_RECOVERY=irn", "PACKET_PAYLOAD_SIZE=1000"], False),
    "queue-pairs": ("SimAI", "mixed", "rails", ["QPS_PER_CONNECTION=3", "L2_ACK_INTERVAL=20000"], True),
    "cut-link": ("SimAI", "experts", "rails", ["LINK_DOWN=20 18 22", "LINK_UP=60 18 22", "RTO=200"], True),
    "flowlets": ("SimAI", "experts", "rails", ["ROUTING=flowlet"], True),
}


def prepare(directory):
    """Writes the input files of all configurations."""
    write_rails(directory / "rails")
    write_star(directory / "star")
    write_incast(directory / "incast")
    for name in WORKLOADS:
        write_workload(directory / f"{name}.txt", name)


def run(program, name, inputs, output, seed=1, flags=()):
    """Runs one configuration; raises with the program's words if it fails."""
    conf, workload, topology, keys, beside = CONFIGURATIONS[name]
    command = [str(program), "-w", inputs / f"{workload}.txt", "-n", inputs / topology,
               "-c", ROOT / "conf" / f"{conf}.conf", "-o", output, "-q", "--seed", str(seed)]
    for key in (*SAMPLES, *keys):
        command += ["--set", key]
    if beside:
        command += ["--background-flows", inputs / "incast"]
    command += flags
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{name}: exit status {result.returncode}: {result.stderr}")


#: what run.json says of the simulated world; the rest of it is about the run
RESULTS = ("simulated_ns", "packets", "packet_hops", "drops", "pauses", "paused_ns", "timeouts",
           "retransmitted_bytes", "collectives", "flows", "background_flows")


def record(output):
    """The content of run.json."""
    return json.loads((output / "run.json").read_text())


def fingerprint(output):
    """The checksum of each output file, by name."""
    sums = {}
    for path in sorted(output.rglob("*")):
        name = str(path.relative_to(output))
        if not path.is_file():
            continue
        data = path.read_bytes()
        if name == "run.json":
            values = record(output)
            data = json.dumps({key: values.get(key) for key in RESULTS}).encode()
        sums[name] = hashlib.sha256(data).hexdigest()
    return sums
