# SPDX-License-Identifier: GPL-2.0-only
"""Workloads for runs that are divided between threads or processes, and what comes of them."""
import json
import os
import pathlib
import subprocess

from waiting import HANGS

PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", "bin"))
SIMULATOR = PROGRAMS / "SimAI_simulator"
ROOT = pathlib.Path(__file__).resolve().parents[2]

SHIPPED = ROOT / "conf" / "SimAI.conf"
DOWN = ["--set", "LINK_DOWN=200 0 40", "--set", "LINK_UP=600 0 40"]  # a GPU's NIC


def training(path, gpus, tp, pp=1, bytes_each=2_000_000):
    rows = [f"layer{i}\t-1\t2000\tALLREDUCE\t{bytes_each}\t2000\tNONE\t0\t2000\tALLREDUCE\t{bytes_each}\t100\n"
            for i in range(2)]
    path.write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: 1 pp: {pp} vpp: 1 ga: 2 "
                    f"all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0 pp_comm: 300000\n{len(rows)}\n"
                    + "".join(rows))
    return path


def experts(path, gpus):
    path.write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: {gpus} pp: 1 vpp: 1 ga: 1 "
                    f"all_gpus: {gpus} "
                    "checkpoints: 0 checkpoint_initiates: 0\n1\n"
                    "moe\t-1\t2000\tALLTOALL_EP\t4000000\t1\tALLGATHER\t0\t1\tALLTOALL_EP\t4000000\t1\n")
    return path


def cluster(path, servers=8, gpus=4, gpu_type="A100", spines=4):
    """Servers with an NVSwitch, a leaf for each four of them, and spines, oversubscribed."""
    total = servers * gpus
    leaves = range(total + servers, total + servers + servers // 2)
    lines = []
    for gpu in range(total):
        lines.append(f"{gpu} {total + gpu // gpus} 2400Gbps 0.000025ms 0")
        lines.append(f"{gpu} {leaves[gpu // (2 * gpus)]} 100Gbps 0.0005ms 0")
    spine = range(leaves[-1] + 1, leaves[-1] + 1 + spines)
    lines += [f"{leaf} {up} 100Gbps 0.0005ms 0" for leaf in leaves for up in spine]
    switches = [*range(total, total + servers), *leaves, *spine]
    path.write_text(f"{spine[-1] + 1} {gpus} {servers} {len(leaves) + spines} {len(lines)} {gpu_type}\n"
                    + " ".join(map(str, switches)) + "\n" + "\n".join(lines) + "\n")
    return path


def simulate(tmp_path, output, *flags, env=None, launcher=()):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AS_", "NCCL_"))}
    return subprocess.run([*launcher, SIMULATOR, "-c", SHIPPED, "-o", output, *map(str, flags)], cwd=tmp_path,
                          env={**clean, **(env or {})}, capture_output=True, text=True, timeout=HANGS)


PIPELINE = ["-w", "pipeline.txt", "-n", "a100.txt"]
JOBS = {
    "data-parallel": (["-w", "data.txt", "-n", "a100.txt"], {}),
    "pipeline": (PIPELINE + ["--timeline-ranks", "9"], {}),
    "gpus-differ": (PIPELINE + ["--gpu-spread", "0.05"], {}),
    "nvls": (["-w", "data.txt", "-n", "h100.txt"], {"NCCL_ALGO": "Ring,NVLS"}),
    "experts": (["-w", "experts.txt", "-n", "a100.txt"], {}),
    "several-qps": (PIPELINE + ["--ns3::RdmaFabric::QpsPerConnection=3"], {}),
    "persistent": (PIPELINE + ["--ns3::RdmaFabric::PersistentQueuePairs=true", "--set", "CC_MODE=3"], {}),
    "cut-link": (PIPELINE + DOWN, {}),
    "losses": (PIPELINE + ["--set", "ERROR_RATE_PER_LINK=0.0005"], {}),
    "spray": (PIPELINE + ["--set", "ROUTING=spray"], {}),
    "two-jobs": (["-w", "small.txt@0-15", "-w", "small.txt@16-31", "-n", "a100.txt"], {}),
}


def write_inputs(directory):
    """What JOBS need."""
    training(directory / "data.txt", 32, tp=4)
    training(directory / "pipeline.txt", 32, tp=2, pp=4)
    training(directory / "small.txt", 16, tp=4)
    experts(directory / "experts.txt", 32)
    cluster(directory / "a100.txt")
    cluster(directory / "h100.txt", gpu_type="H100")


def results(directory):
    # run.json tells of the threads and of the time they took
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "run.json"}


def record(tmp_path, output):
    return json.loads((tmp_path / output / "run.json").read_text())
