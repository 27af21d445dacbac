# SPDX-License-Identifier: GPL-2.0-only
"""Jobs whose traffic repeats, for --fast-forward."""
import pathlib
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
