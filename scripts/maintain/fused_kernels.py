#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes fused.csv of python/clustersim/workload/kernels: measured forward passes of fused kernels / their rooflines,
medians over shapes.

    scripts/maintain/fused_kernels.py AICONFIGURATOR [-o DIR]

AICONFIGURATOR is a checkout of github.com/ai-dynamo/aiconfigurator (Apache-2.0; reading its tables takes pandas with
pyarrow), or a folder with its tables as SYSTEM__ENGINE_VERSION__OP.csv. It takes the depthwise convolutions and scans
of Mamba-2, gated delta networks and hyper-connections of TensorRT-LLM, and DeepSeek-V4's attention of SGLang without
the products that we know. Scans were measured on a B200; on Hopper those of vLLM (github.com/vllm-project/vllm, pull
request 27299, one H100) count. Other GPUs of a generation take as long a scan as these.
"""
import argparse
import pathlib
import sys

import numpy as np
import pandas as pd

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.mixers.compressed import CompressedAttention  # noqa: E402
from clustersim.workload.mixers.linear import LinearAttention  # noqa: E402
from clustersim.workload.mixers.state_space import StateSpace  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402

SYSTEMS = {"H100": "h100_sxm", "H200": "h200_sxm", "B200": "b200_sxm", "B300": "b300_sxm", "GB200": "gb200",
           "GB300": "gb300"}
TOKENS = (4096, 65536)  # of a batch
VLLM_SCAN = {4096: 12.06e6, 8192: 12.62e6, 16384: 12.92e6, 32768: 11.80e6,
             65536: 11.07e6}  # tokens/s: 128 heads of 64, a group, 128 columns, chunks of 256
COLUMNS = ("conv", "mamba_scan", "delta_scan", "streams", "sparse")


def read(folder, system, engine, operation):
    """@return the rows of an operation that an engine measured on a system, without those of single tokens"""
    engine_of_path = engine.replace("_", "/", 1)
    paths = [*folder.glob(f"{system}__{engine}__{operation}.csv"),
             *folder.glob(f"**/{system}/*/{engine_of_path}/{operation}.parquet")]
    if not paths:
        raise SystemExit(f"{folder}: no {operation} of {engine} on {system}; expected a checkout of AIConfigurator")
    table = (pd.read_parquet if paths[0].suffix == ".parquet" else pd.read_csv)(paths[0])
    return table[table.phase == "context"] if "phase" in table else table


def operator_of(every, name):
    return next(o for o in every if o.name == name)


def median(rows, expected_ms):
    return float(np.median([row.latency / expected_ms(row) for row in rows.itertuples()]))


def _of_states(row):
    """@return operators of a Mamba-2 layer of a row's sizes"""
    model = catalogue.find("nemotron_3_super")
    space = model.sizes_of(StateSpace).copy(update=dict(heads=row.nheads, state=row.d_state, groups=row.n_groups,
                                                        chunk=row.chunk_size))
    plan = Parallelism(1, micro_batch=row.batch_size, sequence=row.seq_len)
    return list(space.operators(model, plan, model.layer_kind(0)))


def _of_delta(row):
    model = catalogue.find("qwen3_next_80b_a3b")
    linear = model.sizes_of(LinearAttention).copy(update=dict(key_heads=row.num_k_heads, value_heads=row.num_v_heads,
        key_dim=row.head_k_dim, value_dim=row.head_v_dim))
    return list(linear.operators(model, Parallelism(1, micro_batch=row.batch_size, sequence=row.seq_len),
                                 model.layer_kind(0)))


def states(gpu, folder, system, engine, kernel, name):
    table = read(folder, system, engine, "mamba2_perf")
    table = table[(table.kernel_source == kernel) & table.num_tokens.between(*TOKENS) & (table.nheads >= 64)]
    return median(table, lambda row: gpu.times_ns(operator_of(_of_states(row), name))[0] / 1e6)


def delta(gpu, folder, system):
    table = read(folder, system, "trtllm_1.3.0rc20", "gdn_perf")
    table = table[(table.kernel_source
                   == "chunk_gated_delta_rule") & table.num_tokens.between(*TOKENS) & (table.num_v_heads >= 16)]
    return median(table, lambda row: gpu.times_ns(operator_of(_of_delta(row), "delta_scan"))[0] / 1e6)


def streams(gpu, folder, system):
    """The mixture before a block and that after it; both sites of a layer are measured together."""
    table, found = read(folder, system, "trtllm_1.3.0rc20", "mhc_module_perf"), []
    for hidden, rows in table[(table.num_sites == 2) & (table.hc_mult == 4)].groupby("hidden_size"):
        model = catalogue.find("deepseek_v4_flash").copy(update={"hidden": hidden})
        for tokens in (2048, 4096, 8192, 16384):
            each = [part.groupby("num_tokens").latency.median() for _, part in rows.groupby("op_name")]
            both = sum(np.exp(np.interp(np.log(tokens), np.log(part.index), np.log(part))) for part in each)
            found.append(both / 2 / (gpu.times_ns(operators.streams("x", model, tokens)[0])[0] / 1e6))
    return float(np.median(found))


def sparse(gpu, measured, folder, system):
    """@param gpu with rooflines @param measured the same with tables, for the products of the layer"""
    table = read(folder, system, "sglang_0.5.14", "dsv4_csa_context_module_perf")
    table = table[(table.step == 0) & (table.tp_size == 1) & (table.isl >= 2048) & (table.isl * table.batch_size
        <= 32768)
                  & (table.gemm_type == "bfloat16") & table.model.str.contains("V4-Flash")]
    found = []
    for row in table.itertuples():
        plan = Parallelism(1, micro_batch=row.batch_size, sequence=row.isl)
        model = catalogue.find("deepseek_v4_flash")
        every = operators.mixer(model, plan,
                                model.layer_kind(model.sizes_of(CompressedAttention).ratios.index(row.compress_ratio)))
        products = sum(measured.times_ns(o)[0] for o in every if o.kind != "fused") / 1e6
        found.append((row.latency - products) / (sum(gpu.times_ns(o)[0] for o in every if o.kind == "fused") / 1e6))
    return float(np.median(found))


def vllm_scan(gpu):
    rows = pd.DataFrame([dict(nheads=128, d_state=128, n_groups=1, chunk_size=256, batch_size=1, seq_len=tokens,
                              latency=1e3 * tokens / rate)
                         for tokens, rate in VLLM_SCAN.items()])
    return median(rows, lambda row: gpu.times_ns(operator_of(_of_states(row), "mamba_scan"))[0] / 1e6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=REPOSITORY / "python/clustersim/workload/kernels")
    given = parser.parse_args()
    ours = {name: gpus.find(name, kernels="roofline") for name in ("A100", *SYSTEMS)}
    scans = {"H100": vllm_scan(ours["H100"]),
             "B200": states(ours["B200"], given.measurements, "b200_sxm", "trtllm_1.3.0rc15",
                            "mamba_chunk_scan_combined", "mamba_scan")}
    rows = {}
    for name, system in SYSTEMS.items():
        gpu, like = ours[name], "H100" if name.startswith("H") else "B200"
        rows[name] = [states(gpu, given.measurements, system, "trtllm_1.3.0rc20", "causal_conv1d_fn", "mamba_conv"),
                      scans[like] * gpu.memory_gbps / ours[like].memory_gbps, delta(gpu, given.measurements, system),
                      streams(gpu, given.measurements, system),
                      sparse(gpu, gpus.find(name), given.measurements, system)]
    rows = {"A100": rows["H100"], **rows}
    with open(given.output / "fused.csv", "w", encoding="ascii") as file:
        file.write("# Made by scripts/maintain/fused_kernels.py from measurements of AIConfigurator "
                   "(github.com/ai-dynamo/aiconfigurator, Apache-2.0)\n")
        file.write("gpu," + ",".join(COLUMNS) + "\n")
        file.writelines(f"{name}," + ",".join(f"{value:.2f}" for value in row) + "\n" for name, row in rows.items())


if __name__ == "__main__":
    main()
