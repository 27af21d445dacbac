#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of kernels that serve requests, in python/clustersim/workload/kernels, from measurements.

    scripts/maintain/serving_tables.py AICONFIGURATOR [-o DIR]

AICONFIGURATOR is a checkout of github.com/ai-dynamo/aiconfigurator (Apache-2.0), or a folder with its tables as
SYSTEM__ENGINE_VERSION__OP.csv.gz. It writes shares of the rooflines of clustersim.workload.kernels.serving:

products-fp8-GPU.csv, products-nvfp4-GPU.csv   products by n, k (rows) and m (columns), with the quantization of their
input experts-GPU.csv    gated experts of a rank by precision, hidden size and width (those of models, or any), 2^20
weights of a projection, experts
                   (rows) and rows of each (columns), balanced
decoding-GPU.csv   attention of decoding sequences by type of the cache, numbers of a token and key-value head, query
heads of each,
                   cached tokens (rows), sequences x key-value heads (columns)
prompts.csv        time of the attention of prompts that go into a cache of 8-bit floats / into one of bfloat16, by
head_dim (rows; latent attention's
                   is 192) and tokens (columns)
serving-errors.csv how far all measurements are from the tables: points, median of measured / table's, 10th and 90th
percentile
"""
import argparse
import itertools
import pathlib
import sys

import numpy as np
import pandas as pd
from kernel_tables import LICENCE, SYSTEMS, TOKENS, fastest, read, text

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import gpus, serving  # noqa: E402

N, K = (256, 1024, 2048, 4096, 8192, 16384, 65536), (256, 1024, 2048, 4096, 8192, 16384)
M = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
SIZES, EXPERTS, ROWS = (1, 2, 4, 8, 16, 32), (1, 4, 16, 64, 256), (1, 4, 16, 64, 128, 256, 512, 1024)
LOCAL = (4, 16, 32, 64, 128)  # experts of a rank, of the shapes that models have
WIDTHS, GROUPS, CACHED, TOGETHER = (128, 256, 512), (1, 4, 8, 16), (16, 128, 512, 1024, 2048, 4096, 16384, 65536), (1,
    4, 16, 64, 256, 1024, 4096)
LATENT_HEADS = (16, 32, 64, 128)


def write(path, header, rows):
    licence = LICENCE.replace("kernel_tables", "serving_tables") if not path.name.endswith("errors.csv") else ""
    path.write_text(licence + "".join(",".join(map(str, row)) + "\n" for row in (header, *rows)),
                    encoding="ascii")
    print(path, path.stat().st_size, "bytes")


def nearest(axis, values):
    """@return for each value the point of the axis that is nearest in log space"""
    logs = np.log(np.asarray(axis, float))
    return np.asarray(axis)[np.abs(np.log(np.asarray(values, float))[:, None] - logs).argmin(axis=1)]


def filled(found, axes):
    """@return found, with the nearest known point for each that is missing: first along the last axis"""
    steps = [{point: place for place, point in enumerate(axis)} for axis in axes]

    def distance(one, other):
        return [abs(step[a] - step[b]) for step, a, b in zip(steps, one, other)]

    return {key: found[key] if key in found else found[min(found,
                                                           key=lambda known: sum(d * 10 ** -i for i,
                                                               d in enumerate(distance(key, known))))]
            for key in itertools.product(*axes)}


# -- products

def products(gpu, table, precision, output):
    table = table[(table.gemm_dtype == precision) & table.n.isin(N) & table.k.isin(K) & table.m.isin(M)]
    least = [serving.roofline_ns(gpu, precision, *row) for row in table[["m", "n", "k"]].itertuples(index=False)]
    found = dict(zip(zip(table.n, table.k, table.m), np.asarray(least) / (table.latency.to_numpy() * 1e6)))
    whole = filled(found, (N, K, M))
    write(output / f"products-{precision}-{gpu.name}.csv", ["n", "k", *M],
          [[n, k, *(text(whole[n, k, m]) for m in M)] for n, k in itertools.product(N, K)])


def product_errors(gpu, table, precision):
    table = table[(table.gemm_dtype == precision) & (table.n >= 1024) & (table.k >= 1024) & (table.n
        <= 16384) & (table.k <= 16384)]
    table = table.sample(min(len(table), 4000), random_state=1)
    mild = gpu.copy(update={"loaded": 1.0})
    return table.latency * 1e6 / [serving.product_ns(mild, precision, *row)
                                  for row in table[["m", "n", "k"]].itertuples(index=False)]


# -- experts

def expert_rows(folder, system):
    table = read(folder, system, "moe")
    table = table[~table.kernel_source.str.contains("nongated") & (table.distribution
        == "balanced") & (table.moe_ep_size <= table.num_experts)]
    table = table.assign(width=table.inter_size // table.moe_tp_size, local=table.num_experts // table.moe_ep_size,
                         rows=table.num_tokens * table.topk / table.moe_ep_size)
    table = table[(table["rows"] >= table.local)]  # all experts get some
    keys = ["moe_dtype", "hidden_size", "width", "local", "rows"]
    return table.groupby(keys).agg({"latency": "min", "moe_tp_size": "min"}).reset_index()


def experts(gpu, table, output):
    rows = []
    for precision in ("bfloat16", "fp8", "nvfp4"):
        part = table[table.moe_dtype == precision]
        if part.empty:
            continue
        least = np.asarray([serving.experts_roofline_ns(gpu, precision, row.rows, row.hidden_size, row.width, row.local)
                            for row in part.itertuples()])
        part = part.assign(share=least / (part.latency * 1e6),
                           size=nearest(SIZES, part.hidden_size * part.width / serving.MEBI),
                           of=nearest(EXPERTS, part.local), each=nearest(ROWS, part["rows"] / part.local))
        whole = filled(part.groupby(["size", "of", "each"]).share.median().to_dict(), (SIZES, EXPERTS, ROWS))
        rows += [[precision, "any", "any", size, count, *(text(whole[size, count, each]) for each in ROWS)] for size,
                 count in itertools.product(SIZES, EXPERTS)]
        for (hidden, width), shape in part[(part.moe_tp_size == 1) & part.local.isin(LOCAL)].groupby(["hidden_size",
            "width"]):
            whole = filled(shape.groupby(["local", "each"]).share.median().to_dict(), (LOCAL, ROWS))
            rows += [[precision, hidden, width, 1, count, *(text(whole[count, each]) for each in ROWS)]
                     for count in LOCAL]
    if rows:
        write(output / f"experts-{gpu.name}.csv", ["precision", "hidden", "width", "size", "experts", *ROWS], rows)


def expert_errors(gpu, table, precision):
    part = table[(table.moe_dtype == precision)]
    part = part.sample(min(len(part), 4000), random_state=1)
    mild = gpu.copy(update={"loaded": 1.0})
    return part.latency * 1e6 / [serving.experts_ns(mild, precision, row.rows, row.hidden_size, row.width, row.local)
                                 for row in part.itertuples()]


# -- attention

def decoding_rows(folder, system):
    table = read(folder, system, "generation_attention")
    table = table[(table.window_size == 0) & (table.num_heads % table.num_key_value_heads == 0)]
    table = table.assign(width=2 * table.head_dim, group=table.num_heads // table.num_key_value_heads,
                         kv=table.num_key_value_heads)
    latent = read(folder, system, "generation_mla")
    latent = latent.assign(width=serving.LATENT, group=latent.num_heads, kv=1)
    both = pd.concat([table[table.width.isin(WIDTHS)], latent])
    return both.assign(cached=both.step + both.isl, together=both.batch_size * both.kv).groupby(
        ["kv_cache_dtype", "width", "group", "cached", "together"]).latency.median().reset_index()


def decoding(gpu, table, output):
    rows = []
    for cache, width in itertools.product(("bfloat16", "fp8"), (*WIDTHS, serving.LATENT)):
        for group in LATENT_HEADS if width == serving.LATENT else GROUPS:
            part = table[(table.kv_cache_dtype == cache) & (table.width == width) & (table.group
                == group) & (table.cached >= 8)]
            if part.empty:
                continue
            least = serving.decoding_bytes(part.together, part.cached, 1, width,
                                           1 if cache == "fp8" else 2) / gpu.memory_gbps
            part = part.assign(share=least / (part.latency * 1e6), of=nearest(CACHED, part.cached),
                               at=nearest(TOGETHER, part.together))
            part = part[(part.of == part.cached) & (part["at"] == part.together)]
            whole = filled(part.groupby(["of", "at"]).share.median().to_dict(), (CACHED, TOGETHER))
            rows += [[cache, width, group, cached, 1, *(text(whole[cached, at]) for at in TOGETHER)]
                     for cached in CACHED]
    write(output / f"decoding-{gpu.name}.csv", ["cache", "width", "group", "cached", "one", *TOGETHER], rows)


def prompts(gpu, folder):
    """@return rows of prompts.csv; queries are of bfloat16 in both cases"""
    table = read(folder, SYSTEMS[gpu.name], "context_attention")
    table = table[(table.window_size == 0) & (table.attn_dtype == "bfloat16") & (table.batch_size * table.num_heads
        >= 64)]
    latent = read(folder, SYSTEMS[gpu.name], "context_mla").assign(head_dim=192, num_key_value_heads=1)
    for head_dim, part in (*table[table.head_dim.isin((64, 128, 256))].groupby("head_dim"),
                           (192, latent[latent.batch_size * latent.num_heads >= 64])):
        wide = part.pivot_table(index=["isl", "batch_size", "num_heads", "num_key_value_heads"],
                                columns="kv_cache_dtype", values="latency")
        if "fp8" in wide:
            found = (wide.fp8 / wide.bfloat16).groupby("isl").median()
            yield [gpu.name, head_dim, 1, *(f"{found[tokens]:.3f}" for tokens in TOKENS)]


def decoding_errors(gpu, table, cache):
    known = np.where(table.width == serving.LATENT, table.group.isin(LATENT_HEADS), table.group <= GROUPS[-1])
    part = table[(table.kv_cache_dtype == cache) & (table.cached >= 128) & known]
    part = part.sample(min(len(part), 4000), random_state=1)
    return part.latency * 1e6 / [serving.decoding_ns(gpu, cache, row.together, row.cached, row.group, 1, row.width,
                                                     row.width == serving.LATENT) for row in part.itertuples()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=REPOSITORY / "python/clustersim/workload/kernels")
    given = parser.parse_args()
    errors, eight_bit = [], []
    for name, system in SYSTEMS.items():
        gpu, gemm = gpus.find(name), fastest(read(given.measurements, system, "gemm"))
        moe, caches = expert_rows(given.measurements, system), decoding_rows(given.measurements, system)
        precisions = [each for each in ("fp8", "nvfp4") if each in set(gemm.gemm_dtype)]
        for precision in precisions:
            products(gpu, gemm, precision, given.output)
        experts(gpu, moe, given.output)
        decoding(gpu, caches, given.output)
        eight_bit += prompts(gpu, given.measurements)
        write(given.output / "prompts.csv", ["gpu", "head_dim", "one", *TOKENS], eight_bit)
        found = [("products", each, product_errors(gpu, gemm, each)) for each in ("bfloat16", *precisions)]
        found += [("experts", each, expert_errors(gpu, moe, each)) for each in ("bfloat16", *precisions)
                  if each in set(moe.moe_dtype)]
        found += [("decoding", each, decoding_errors(gpu, caches, each)) for each in ("bfloat16", "fp8")
                  if each in set(caches.kv_cache_dtype)]
        errors += [[name, table, kind, len(ratio), *(f"{np.quantile(ratio, at):.3f}" for at in (0.5, 0.1, 0.9))]
                   for table, kind, ratio in found]
    write(given.output / "serving-errors.csv", ["gpu", "table", "type", "points", "median", "p10", "p90"], errors)


if __name__ == "__main__":
    main()
