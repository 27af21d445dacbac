# SPDX-License-Identifier: GPL-2.0-only
"""Jobs whose traffic repeats, for --fast-forward."""
import pathlib
import random
import sys
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]
from clustersim_lab.comparisons import compare_backends as backends  # noqa: E402

CONF = ROOT / "conf" / "SimAI.conf"
MIB = 1 << 20


def job_of_two_servers(directory):
    """Arguments: the same layer three times, on groups within servers and on groups across them."""
    backends.servers(directory / "topology", 2, gpus=4)
    layers = [(name, 5000, "ALLGATHER", 4 * MIB, "ALLREDUCE", MIB) for name in "abc"]
    backends.layers(directory / "w.txt", 8, layers, tp=4)
    return "-w", directory / "w.txt", "-n", directory / "topology"


def clos(directory, gpus, *flags):
    """@return a topology of servers of 8 A100 and NICs of 100 Gb/s, not oversubscribed without flags"""
    made = run_script([ROOT / "topologies/gen_Topo_Template.py",
                       *f"-topo Clos2 -g {gpus} -gt A100 -bw 100Gbps -apbw 100Gbps".split(),
                       *flags], cwd=directory, check=True)
    return directory / made.stdout.strip()


def all_to_alls(path, ranks, size, layers, batches):
    """@return a workload of two AllToAlls a layer and micro-batch, 100 us of computation between them and 200
    backwards"""
    row = "moe\t-1\t100000" + f"\tALLTOALL_EP\t{size}\t100000" * 2 + "\tNONE\t0\t1\n"
    path.write_text(f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: {ranks} pp: 1 vpp: 1 ga: "
                    f"{batches} all_gpus: {ranks} "
                    f"checkpoints: 0 checkpoint_initiates: 0\n{layers}\n" + row * layers)
    return path


def congested_all_to_alls(directory, layers):
    """Arguments of a job: 32 AllToAlls a layer over 4 to 1."""
    topology = clos(directory, 16, "--nics_per_leaf", "4", "--oversubscription", "4")
    return "-w", all_to_alls(directory / "w.txt", 16, 8 * MIB, layers, 16), "-n", topology


def random_job(directory, seed):
    """Arguments of a job of 4 to 16 GPUs with groups, collectives, sizes and micro-batches drawn at random."""
    draw = random.Random(seed)
    servers, gpus = draw.choice((2, 4)), draw.choice((2, 4))
    ranks = servers * gpus
    tp = draw.choice([size for size in (1, 2, 4) if size <= gpus])
    pp = draw.choice([size for size in (1, 2) if ranks // tp % size == 0])
    ep = draw.choice([size for size in (1, 2) if ranks // tp // pp % size == 0])
    forward = ["NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER", *(["ALLTOALL_EP"] if ep > 1 else [])]
    lines = []
    for layer in range(draw.randint(2, 5)):
        cells = [f"l{layer}", -1]
        for kinds in (forward, ["NONE"], ["NONE", "ALLREDUCE", "ALLGATHER"]):
            kind = draw.choice(kinds)
            cells += [draw.randrange(1000, 200_000), kind, 0 if kind == "NONE" else draw.randrange(64, 4096) << 10]
        lines.append("\t".join(map(str, [*cells, 1])) + "\n")
    head = (f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 "
            f"ga: {draw.choice((1, 2, 4))} all_gpus: {ranks} checkpoints: 0 checkpoint_initiates: 0 "
            f"pp_comm: {draw.randrange(64, 4096) << 10}\n{len(lines)}\n")
    (directory / "w.txt").write_text(head + "".join(lines))
    backends.servers(directory / "topology", servers, gpus=gpus)
    return "-w", directory / "w.txt", "-n", directory / "topology"
