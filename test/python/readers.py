# SPDX-License-Identifier: GPL-2.0-only
"""A small file of every kind that programs read, and the command that reads it."""
import os
import pathlib
import subprocess

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
STAR = "5 1 4\n4\n4 0 100Gbps 1us 0\n4 1 100Gbps 1us 0\n4 2 100Gbps 1us 0\n4 3 100Gbps 1us 0\n"
TRAINING = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: {vpp} ga: {ga} "
            "all_gpus: 4 "
            "checkpoints: 1 {checkpoint} checkpoint_initiates: 1 {checkpoint} pp_comm: {message}\n2\n"
            "a {dep} {compute} ALLREDUCE {bytes} 1000 NONE 0 1000 ALLREDUCE 8192 {update}\n"
            "b -1 1000 ALLGATHER 4096 1000 REDUCESCATTER 4096 1000 ALLREDUCE 8192 10\n")
KV_CACHE = ("KV_CACHE\nprefill 0\ndecode 1\nlayers {layers}\nkv_heads {heads}\nhead_dim 128\n"
            "bytes_per_element {element}\n"
            "prefill_ns_per_token {prefill}\nrequests {requests}\nrate {rate}\nprompt_tokens {tokens}\nseed {seed}\n")
NETWORK = "topology: [ Ring ]\nnpus_count: [ {npus} ]\nbandwidth: [ {bandwidth} ]\nlatency: [ {latency} ]\n"
FLOWS = "{count}\n{src} 1 {priority} {port} {bytes} {start}\n"
SYSTEM = ('{{"endpoint-delay": {delay}, "active-chunks-per-dimension": {active}, "preferred-dataset-splits": {splits}, '
          '"local-mem-bw": {memory}}}')
TOPOLOGY = "3 1 2\n2\n2 0 {rate} {delay} {error}\n2 1 100Gbps 1us 0\n"
BUSBW = "TP:\n  allreduce: {bandwidth}\n"

CONF = ("BUFFER_SIZE {buffer}\nPACKET_PAYLOAD_SIZE {payload}\nRATE_AI {rate}\nRP_TIMER {timer}\nKMIN {kmin}\n"
        "KMAX {kmax}\n"
        "PMAX_MAP 1 {map} 0.2\nL2_CHUNK_SIZE {chunk}\nPAUSE_TIME {pause}\nSEED {seed}\nLINK_DOWN {down} 0 4\n"
        "QUEUE_WEIGHT 3 {weight}\n")
SERVING = ("INFERENCE\nrequests {requests}\nrate {rate}\nprompt_tokens {prompt}\noutput_tokens {output}\n"
           "layers {layers}\n"
           "kv_heads {heads}\nkv_bytes {kv}\nnum_gpu_blocks {blocks}\nblock_size {block}\n"
           "max_num_batched_tokens {batch}\nseed {seed}\n"
           "gpu tflops: {tflops} matmul: 0.8 attention: 0.7 memory_gbps: {memory} stream: 0.9 sms: 100\n"
           "instances colocated 0-3 tp: 2 pp: 1 ep: 1\nrow a all matmul {columns} 64 1 ALLREDUCE_TP {bytes}\n")

# A template, values that work, and what is run on the file.
READERS = {
    "micro": ("{passes} {op} {bytes} DP\n", {"passes": "1", "op": "ALLREDUCE", "bytes": "4096"}),
    "training": (TRAINING, {"tp": "2", "ep": "1", "pp": "2", "vpp": "1", "ga": "2", "checkpoint": "0",
                            "message": "4096",
                            "dep": "-1", "compute": "1000", "bytes": "4096", "update": "10"}),
    "kv-cache": (KV_CACHE, {"layers": "2", "heads": "8", "element": "2", "prefill": "10", "requests": "2", "rate": "10",
                            "tokens": "16", "seed": "1"}),
    "network": (NETWORK, {"npus": "4", "bandwidth": "50", "latency": "500"}),
    "flows": (FLOWS, {"count": "1", "src": "0", "priority": "3", "port": "100", "bytes": "4096", "start": "0.000001"}),
    "system": (SYSTEM, {"delay": "10", "active": "1", "splits": "4", "memory": "1600"}),
    "topology": (TOPOLOGY, {"rate": "100Gbps", "delay": "1us", "error": "0"}),
    "conf": (CONF, {"buffer": "32", "payload": "4096", "rate": "50Mb/s", "timer": "900", "kmin": "100", "kmax": "400",
                    "map": "100Gbps", "chunk": "4000", "pause": "5", "seed": "1", "down": "0.5", "weight": "1"}),
    "serving": (SERVING, {"requests": "2", "rate": "1e5", "prompt": "20", "output": "2", "layers": "2", "heads": "4",
                          "kv": "64",
                          "blocks": "100", "block": "8", "batch": "48", "seed": "1", "tflops": "100", "memory": "1000",
                          "columns": "64", "bytes": "64"}),
    "busbw": (BUSBW, {"bandwidth": "300"}),
}

def command(reader, program="SimAI_simulator", *more):
    """@return the words that read a file of a kind; the others work"""
    words = [str(PROGRAMS / program), "-q", "-o", "out"]
    if reader == "flows":
        return [str(PROGRAMS / "qbb-flows"), "-q", "-c", "conf", "-n", "star", "-f", "flows", "-o", "out",
                "--max-sim-time=1ms", *more]
    if reader == "busbw":
        return [str(PROGRAMS / "SimAI_analytical"), "-q", "-w", "w", "-g", "8", "-busbw", "busbw", "-o", "out/", *more]
    workload = reader if reader in ("micro", "training", "kv-cache", "serving") else "w"
    topology = "topology" if reader == "topology" else "star"
    words += ["-w", workload, "--max-time=20s", "--max-sim-time=1ms"]
    words += ["-c", "network.yml", "--network=analytical"] if reader == "network" else ["-n", topology]
    words += ["-c", "conf"] if reader == "conf" else []
    words += ["--system-configuration=system"] if reader == "system" else []
    words += ["--tp", "1"] if reader == "micro" else []
    return words + list(more)


def write(folder, reader, **values):
    template, good = READERS[reader]
    (folder / "star").write_text(STAR)
    (folder / "conf").write_text("CC_MODE 1\n")
    (folder / "w").write_text("1 ALLREDUCE 4096 TP\n")
    (folder / (reader + (".yml" if reader == "network" else ""))).write_text(template.format(**{**good, **values}))


def run(folder, words, seconds=120):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
