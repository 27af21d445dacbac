#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of kernels that serve requests, in python/clustersim/workload/kernels, from measurements.

    scripts/maintain/serving_tables.py AICONFIGURATOR [-o DIR]

AICONFIGURATOR is a folder with tables of github.com/ai-dynamo/aiconfigurator (Apache-2.0) as
SYSTEM__ENGINE_VERSION__OP.csv.gz. It writes shares of the rooflines of clustersim.workload.kernels.serving:

engine-products-GPU.csv.gz   products by engine, precision, n, k (rows) and m (columns), with the quantization of their
input
experts-GPU.csv.gz microseconds of a rank's gated experts by engine, precision, whether tokens choose experts equally or
by a power law, hidden size, width after tensor parallelism, experts of the rank, of a token and of all ranks (rows),
                   and tokens (columns)
decoding-GPU.csv   attention of decoding sequences by type of the cache, numbers of a token and key-value head, query
heads of each,
                   cached tokens (rows), sequences x key-value heads (columns)
prompts.csv        time of the attention of prompts that go into a cache of 8-bit floats / into one of bfloat16, by
head_dim (rows; latent attention's
                   is 192) and tokens (columns)
latent.csv         microseconds of latent attention (DeepSeek's, engines' whole modules) beside its products and its
attention, by GPU, engine, query heads of a rank (rows) and tokens (columns)
serving-errors.csv how far all measurements are from the tables: points, median of measured / table's, 10th and 90th
percentile
expert-errors.csv  experts' predicted / measured times: median, and the part within 15%, of all measurements by rows of
                   an expert; with the shape in the table, and with all shapes of its model left out
"""
import argparse
import gzip
import itertools
import pathlib
import sys

import numpy as np
import pandas as pd
from kernel_tables import LICENCE, SYSTEMS, TOKENS, read, text

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import experts, gpus, grid, serving  # noqa: E402
from clustersim.workload.model.operator import Heads  # noqa: E402

N, K = (64, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536), (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
M = (1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
# Tokens of experts' curves, rows of an expert that begin a regime of the errors, and ways to cut an expert.
AT = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192, 16384)
REGIMES, CUTS = (1, 4, 64), (1, 2, 4, 8, 16, 32)
# Releases that count, best first. Of vLLM, those nearest to its profile: 0.14's products quantize with several kernels
# that an engine's compiler fuses, and its experts are those of 0.19 (in blocks, cut: within 3%). 0.24 has other experts
# on Hopper, and measured its products of fp8_block without CUDA graphs (collector/vllm/collect_gemm.py). On Blackwell,
# 0.19's experts of 4 bits take longer for 1,024 tokens than for 4,096.
PRODUCTS = {"TensorRT-LLM": ("trtllm_*",), "vLLM": ("vllm_0.19.0", "vllm_0.14.0"), "SGLang": ("sglang_0.5.10",)}
EXPERTS = {engine: PRODUCTS[engine] for engine in ("TensorRT-LLM", "vLLM")}
BLACKWELL_EXPERTS = {**EXPERTS, "vLLM": ("vllm_0.24.0",)}
PRECISIONS = ("bfloat16", "fp8", "fp8_block", "nvfp4")
WIDTHS, GROUPS, CACHED, TOGETHER = (128, 256, 512), (1, 4, 8, 16), (16, 128, 512, 1024, 2048, 4096, 16384, 65536), (1,
    4, 16, 64, 256, 1024, 4096)
LATENT_HEADS = (16, 32, 64, 128)
# Of whole modules of latent attention: releases, heads of a rank, the most tokens that count as decoding, the longest
# sequences, whose own attention does not hide the rest, and the least microseconds.
MODULES = {"TensorRT-LLM": ("trtllm_*",), "vLLM": ("vllm_0.19.0",)}
MODULE_AT = tuple(1 << power for power in range(15))
MODULE_HEADS, MOST_DECODING, LEAST_CACHED, LONGEST, LEAST_US = (8, 16, 32, 64, 128), 64, 32, 1024, 0.1


def write_packed(path, header, rows):
    lines = LICENCE.replace("kernel_tables", "serving_tables") + "".join(
        ",".join(map(str, row)) + "\n" for row in (header, *rows))
    path.write_bytes(gzip.compress(lines.encode("ascii"), 9, mtime=0))
    print(path, path.stat().st_size, "bytes")


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

def measured(folder, system, operation, engines):
    """@return an engine's measurements of its best release, by engine"""
    for engine, releases in engines.items():
        for paths in [found for release in releases
                      if (found := sorted(folder.glob(f"{system}__{release}__{operation}_perf.csv.gz")))][:1]:
            yield engine, pd.concat(map(pd.read_csv, paths))


def engine_products(folder, system):
    """@return measured products by engine"""
    return {engine: table.groupby(["gemm_dtype", "m", "n", "k"]).latency.min().reset_index()
            for engine, table in measured(folder, system, "gemm", PRODUCTS)}


def product_rows(gpu, engine, table):
    """@return rows of engine-products-GPU.csv.gz"""
    table = table[table.n.isin(N) & table.k.isin(K) & table.m.isin(M)]
    for precision, part in table.groupby("gemm_dtype"):
        if precision not in PRECISIONS:
            continue
        least = [serving.roofline_ns(gpu, precision, *row) for row in part[["m", "n", "k"]].itertuples(index=False)]
        found = dict(zip(zip(part.n, part.k, part.m), np.asarray(least) / (part.latency.to_numpy() * 1e6)))
        whole = filled(found, (N, K, M))
        yield from ([engine, precision, n, k, *(text(whole[n, k, m]) for m in M)]
                    for n, k in itertools.product(N, K))


def kept(name, *cells):
    """@return rows of a table of the package that begin with these cells"""
    return [row for row in grid.rows(name)[1] if tuple(row[:len(cells)]) == cells]


def write_products(gpu, tables, output):
    """Engines that were not measured keep their rows."""
    name = f"engine-products-{gpu.name}.csv.gz"
    rows = [row for engine in PRODUCTS
            for row in (product_rows(gpu, engine, tables[engine]) if engine in tables else kept(name, engine))]
    write_packed(output / name, ["engine", "precision", "n", "k", *M], rows)


def product_error_rows(gpu, tables):
    for engine in PRODUCTS:
        title = f"products of {engine}"
        if engine not in tables:
            yield from kept("serving-errors.csv", gpu.name, title)
            continue
        for precision, ratio in product_errors(gpu, engine, tables[engine]):
            yield error_row(gpu, title, precision, ratio)


def error_row(gpu, table, kind, ratio):
    return [gpu.name, table, kind, len(ratio), *(f"{np.quantile(ratio, at):.3f}" for at in (0.5, 0.1, 0.9))]


def product_errors(gpu, engine, table):
    """@return by precision, measured / the table's, of products of any size within it"""
    table = table[(table.n >= 256) & (table.k >= 256) & (table.n <= 16384) & (table.k <= 16384)]
    mild = gpu.copy(update={"loaded": 1.0})
    for precision, part in table[table.gemm_dtype.isin(PRECISIONS)].groupby("gemm_dtype"):
        part = part.sample(min(len(part), 4000), random_state=1)
        yield precision, part.latency * 1e6 / [serving.product_ns(mild, precision, *row, engine)
                                               for row in part[["m", "n", "k"]].itertuples(index=False)]


# -- experts

def expert_curves(gpu, folder, system):
    """@return microseconds of gated experts: a row for each engine and shape, a column for each number of tokens"""
    table = pd.concat([table.assign(engine=engine) for engine, table in measured(
        folder, system, "moe", BLACKWELL_EXPERTS if gpu.fp4 else EXPERTS)])
    table = table[table.moe_dtype.isin(PRECISIONS)]
    table = table[~table.kernel_source.str.contains("nongated") & (table.moe_ep_size <= table.num_experts)]
    is_whole = table.moe_ep_size == 1
    table = table[(table.distribution == "balanced") | is_whole & (table.distribution == "power_law_1.01")]
    table = table.assign(routing=np.where(table.distribution == "balanced", experts.BALANCED, experts.UNEVEN),
                         width=table.inter_size // table.moe_tp_size, local=table.num_experts // table.moe_ep_size,
                         us=1000 * table.latency)
    wide = table.pivot_table(index=["engine", "moe_dtype", "routing", "hidden_size", "width", "local", "topk",
                                    "num_experts"], columns="num_tokens", values="us", aggfunc="median")
    return wide, table


def microseconds(time):
    return "" if np.isnan(time) else f"{time:.3g}" if time < 100 else f"{time:.0f}"


def write_experts(gpu, wide, output):
    """Engines that were not measured keep their rows."""
    name, found = f"experts-{gpu.name}.csv.gz", set(wide.index.get_level_values("engine"))
    rows = [[*key, *map(microseconds, times)] for key, times in zip(wide.index, wide[list(AT)].to_numpy())]
    rows += [row for engine in EXPERTS if engine not in found for row in kept(name, engine)]
    header = ["engine", "precision", "routing", "hidden", "width", "experts", "topk", "of", *AT]
    write_packed(output / name, header, rows)
    return experts.curves(header, rows)


def left_out(found, model):
    """@return the curves without those of a model: its hidden and inner size, and experts"""
    def is_of(shape):
        cut = model[1] / shape.width
        return (shape.hidden, shape.chosen, shape.total) == (model[0], *model[2:]) and cut in CUTS

    return {key: [curve for curve in of_key if not is_of(curve.shape)] for key, of_key in found.items()}


def expert_errors(gpu, found, table):
    """@return rows of expert-errors.csv: all measurements against the table, and against one that lacks their model"""
    shown = {engine: {} for engine in EXPERTS}
    keys = ["engine", "moe_dtype", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size",
            "routing"]
    without = {}
    for key, part in table.groupby(keys):
        engine, precision, hidden, inner, topk, total, cut, ranks, routing = key
        model = hidden, inner, topk, total
        without.setdefault(model, left_out(found, model))
        shape = experts.Shape(hidden, inner // cut, total // ranks, topk, total)
        own = {name: {of: curves for of, curves in those.items() if of[2] == routing}
               for name, those in (("all", found), ("rest", without[model]))}
        curves = [experts.nearest(those, engine, precision, shape) for those in own.values()]
        for tokens, time in zip(part.num_tokens, part.us):
            rows = tokens * topk / ranks
            regime = sum(rows / shape.local >= least for least in REGIMES)
            shown[engine].setdefault((cut > 1, regime), []).append(
                [experts.of_curve(gpu, precision, rows, shape, curve) / (1e3 * time) if curve else np.nan
                 for curve in curves])
    for engine, regimes in shown.items():
        if not regimes:
            yield from kept("expert-errors.csv", gpu.name, engine)
        for cut in (True, False) if regimes else ():
            for column, name in enumerate(("yes", "no")):
                ratios = [np.asarray(regimes[cut, regime])[:, column] for regime in range(1 + len(REGIMES))]
                ratios = [ratio[~np.isnan(ratio)] for ratio in ratios]
                yield [gpu.name, engine, "cut" if cut else "whole", name,
                       *(f"{np.median(ratio):.2f} ({np.mean(np.abs(ratio - 1) <= 0.15):.0%})" for ratio in ratios)]


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


def modules(gpu, folder, system):
    """@return measured modules of latent attention with the microseconds of their parts, by engine"""
    mild = gpu.copy(update={"loaded": 1.0})
    scales = "nvfp4" if gpu.fp4 else "fp8_block"
    for of in ("generation", "context"):
        for engine, table in measured(folder, system, f"mla_{of}_module", MODULES):
            kind = scales if scales in set(table.gemm_type) else "fp8_block"
            is_decoding, tokens = of == "generation", table.batch_size * (1 if of == "generation" else table.isl)
            long = (table.step >= LEAST_CACHED) & (table.step <= LONGEST) if is_decoding else table.isl <= LONGEST
            table = table.assign(tokens=tokens)[
                long & (table.kv_cache_dtype == "bfloat16") & table.num_heads.isin(MODULE_HEADS)
                & (table.gemm_type == kind) & tokens.isin(MODULE_AT) & ((tokens <= MOST_DECODING) == is_decoding)
                & (is_decoding | (table.step == 0))]
            own = [module_us(mild, engine, of, row) for row in table.itertuples()]
            yield engine, pd.DataFrame(own, columns=["heads", "tokens", "us", "parts"])


def module_us(gpu, engine, of, row):
    heads, tokens = int(row.num_heads), int(row.tokens)
    parts = sum(serving.product_ns(gpu, row.gemm_type, tokens, n, k, engine)
                for n, k in ((2112, 7168), (heads * 192, 1536), (heads * 256, 512), (7168, heads * 128)))
    parts += (serving.decoding_ns(gpu, "bfloat16", tokens, int(row.step), heads, 1, serving.LATENT, True)
              if of == "generation" else
              serving.prompts_ns(gpu, "bfloat16", Heads(1, tokens, heads, heads, 192, 128), tokens, row.isl / 2))
    return heads, tokens, 1e3 * row.latency, parts / 1e3


def latent_rows(gpu, folder, system):
    """@return rows of latent.csv, and rows of errors: modules against their parts, and with the table's time beside.
    Engines that were not measured keep their rows."""
    tables, rows, errors = {}, [], []
    for engine, table in modules(gpu, folder, system):
        tables[engine] = pd.concat([*([tables[engine]] if engine in tables else []), table])
    for engine in MODULES:
        title = f"latent attention of {engine}"
        if engine not in tables:
            rows += kept(serving.LATENT_BESIDE, gpu.name, engine)
            errors += kept("serving-errors.csv", gpu.name, title)
            continue
        table = tables[engine]
        found = (table.us - table.parts).groupby([table.heads, table.tokens]).median().clip(lower=LEAST_US)
        whole = filled(found.to_dict(), (MODULE_HEADS, MODULE_AT))
        rows += [[gpu.name, engine, heads, 1, *(text(whole[heads, at]) for at in MODULE_AT)] for heads in MODULE_HEADS]
        beside = [whole[key] for key in zip(table.heads, table.tokens)]
        errors += [error_row(gpu, title, kind, table.us / (table.parts + more))
                   for kind, more in (("parts alone", 0), ("with the time beside", beside))]
    return rows, errors


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
    errors, of_experts, eight_bit, latent = [], [], [], []
    for name, system in SYSTEMS.items():
        gpu, gemm = gpus.find(name), engine_products(given.measurements, system)
        caches = decoding_rows(given.measurements, system)
        write_products(gpu, gemm, given.output)
        wide, moe = expert_curves(gpu, given.measurements, system)
        of_experts += expert_errors(gpu, write_experts(gpu, wide, given.output), moe)
        decoding(gpu, caches, given.output)
        eight_bit += prompts(gpu, given.measurements)
        write(given.output / "prompts.csv", ["gpu", "head_dim", "one", *TOKENS], eight_bit)
        errors += product_error_rows(gpu, gemm)
        errors += [error_row(gpu, "decoding", each, decoding_errors(gpu, caches, each)) for each in ("bfloat16", "fp8")
                   if each in set(caches.kv_cache_dtype)]
        beside, of_modules = latent_rows(gpu, given.measurements, system)
        latent += beside
        errors += of_modules
    write(given.output / serving.LATENT_BESIDE, ["gpu", "engine", "heads", "one", *MODULE_AT], latent)
    write(given.output / "serving-errors.csv", ["gpu", "table", "type", "points", "median", "p10", "p90"], errors)
    write(given.output / "expert-errors.csv", ["gpu", "engine", "experts", "in the table", "less than 1 row", "1 to 4",
                                               "4 to 64", "64 and more"], of_experts)


if __name__ == "__main__":
    main()
