#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the tables of python/clustersim/workload/kernels from measurements.

    scripts/maintain/kernel_tables.py AICONFIGURATOR H100.csv [-o DIR]

AICONFIGURATOR is a checkout of github.com/ai-dynamo/aiconfigurator (Apache-2.0), or a folder with its tables as
SYSTEM__ENGINE_VERSION__OP.csv.gz. H100.csv is what measure_kernels.py has written. It writes

products-GPU.csv     share of the roofline of bfloat16 products by n, k (rows) and m (columns): of the fastest engine
attention-GPU.csv    share of the peak of causal attention's forward pass by head_dim, tokens (rows), sequences x heads
(columns) passes.csv           forward pass of flash and cuDNN attention / that of attention-H100.csv, and backward /
forward precisions.csv       time of products of 8-bit and 4-bit floats / what the peaks make of that of bfloat16
errors.csv           interpolation: every inner point of a table left out and predicted from its neighbours
"""
import argparse
import csv
import itertools
import pathlib
import sys

import numpy as np
import pandas as pd

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.kernels.roofline import FACTOR_BYTES, RESULT_BYTES  # noqa: E402

SYSTEMS = {"A100": "a100_sxm", "H100": "h100_sxm", "H200": "h200_sxm", "B200": "b200_sxm", "B300": "b300_sxm",
           "GB200": "gb200", "GB300": "gb300"}
M = (1, 8, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16384, 32768)
TOKENS = (128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
HEADS = tuple(2 ** power for power in range(11))
LICENCE = (
    "# Made by scripts/maintain/kernel_tables.py from AIConfigurator's measurements"
    " (github.com/ai-dynamo/aiconfigurator, Apache-2.0)\n"
)


def files_of(folder, system, operation, engine="*"):
    """@return files of an engine, or of all"""
    return sorted(folder.glob(f"{system}__{engine}_*__{operation}_perf.csv.gz")) or sorted(
        folder.glob(f"**/{system}/{engine}/*/{operation}_perf.txt"))


def read(folder, system, operation):
    """@return rows of all engines"""
    paths = files_of(folder, system, operation)
    if not paths:
        raise SystemExit(f"{folder}: no {operation} of {system}; expected a checkout of AIConfigurator")
    return pd.concat([pd.read_csv(path) for path in paths])


def write(path, header, rows):
    with open(path, "w", encoding="ascii", newline="") as file:
        file.write(LICENCE if path.name != "errors.csv" else "")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])
    print(path, path.stat().st_size, "bytes")


def text(share):
    return f"{share:.3g}"


# -- products

def fastest(table):
    return table.groupby(["gemm_dtype", "m", "n", "k"]).latency.min().reset_index()


def bfloat16_shares(gpu, table):
    """@return (m, n, k): share of the roofline"""
    table = table[table.gemm_dtype == "bfloat16"]
    m, n, k = (table[name].to_numpy(float) for name in "mnk")
    moved = FACTOR_BYTES["bfloat16"] * (m * k + k * n) + RESULT_BYTES * m * n
    roofline = np.maximum(2 * m * n * k / (gpu.tflops * 1e9), moved / (gpu.memory_gbps * 1e6))  # milliseconds
    return dict(zip(zip(table.m, table.n, table.k), np.minimum(roofline / table.latency.to_numpy(), 1)))


def products(gpu, table, output):
    shares = bfloat16_shares(gpu, table)
    known = [m for m in M if m in {key[0] for key in shares}]
    rows, row = [], []
    for n, k in itertools.product(*(sorted({key[axis] for key in shares}) for axis in (1, 2))):
        found = [shares.get((m, n, k)) for m in known]
        if found[0]:  # else too large for the memory at any m: the share of a smaller k is carried on
            row = list(itertools.accumulate(found, lambda before, share: share or before))
        rows.append([n, k, *map(text, row)])
    write(output / f"products-{gpu.name}.csv", ["n", "k", *known], rows)


def precisions(name, table):
    """Of each precision the time by products alone: engines quantize their input as well, which takes bytes of each
    element."""
    gpu = gpus.find(name)
    wide = table.pivot_table(index=["m", "n", "k"], columns="gemm_dtype", values="latency").reset_index()
    wide = wide[(wide.m.between(1024, 16384)) & (wide.n >= 1024) & (wide.k >= 1024)]
    for precision in [p for p in ("fp8", "fp8_block", "nvfp4") if p in wide]:
        rows = wide.dropna(subset=[precision, "bfloat16"])
        peak = gpu.peak_and_ceiling(precision)[0]
        measured = rows[precision].to_numpy() * 1e6
        columns = np.stack([rows.bfloat16 * 1e6 * gpu.tflops / peak, rows.m * rows.k / gpu.stream_rate], 1)
        weight = 1 / measured
        for _ in range(30):  # least magnitude of the relative error
            found = np.linalg.lstsq(columns * weight[:, None], measured * weight, rcond=None)[0]
            error = np.abs(columns @ found / measured - 1)
            weight = 1 / measured / np.sqrt(np.maximum(error, 0.02))
        yield [name, precision, f"{found[0]:.3f}", f"{found[1]:.1f}", f"{np.median(error):.3f}",
               f"{np.quantile(error, 0.9):.3f}"]


# -- attention

def kernel_times(table, gpu):
    """Milliseconds of the kernel alone: engines also copy queries, keys and values, into their cache."""
    moved = 4 * table.batch_size * table.isl * (table.num_heads + 2 * table.num_key_value_heads) * table.head_dim
    return np.maximum(table.latency - moved / (gpu.stream_rate * 1e6), table.latency / 3)


def attention_shares(gpu, folder):
    """@return (head_dim, tokens, sequences x heads): share of the peak; latent attention's head_dim is 192, its values
    have 128"""
    table = read(folder, SYSTEMS[gpu.name], "context_attention")
    table = table[(table.attn_dtype == "bfloat16") & (table.kv_cache_dtype == "bfloat16") & (table.window_size == 0)]
    table = table[table.head_dim.isin((64, 128, 256))].assign(kernel=lambda t: kernel_times(t, gpu),
        width=lambda t: 2 * t.head_dim)
    latent = read(folder, SYSTEMS[gpu.name], "context_mla")
    latent = latent[latent.kv_cache_dtype == "bfloat16"].assign(head_dim=192, width=192 + 128)
    latent = latent.assign(num_key_value_heads=latent.num_heads,
                           kernel=lambda t: t.latency)  # the latent is all that is cached
    both = pd.concat([table, latent])
    both["share"] = (
        both.batch_size * both.num_heads * both.isl.astype(float) ** 2 * both.width / (both.kernel * gpu.tflops * 1e9)
    )
    both["heads"] = 2 ** np.round(np.log2(both.batch_size * both.num_heads)).astype(int)
    return both.groupby(["head_dim", "isl", "heads"]).share.median().to_dict()


def attention(gpu, shares, output):
    rows = []
    for head_dim, tokens in itertools.product(sorted({key[0] for key in shares}), TOKENS):
        row = [shares.get((head_dim, tokens, heads)) for heads in HEADS]
        last = next(place for place, share in enumerate(row) if share is not None)
        for place in range(last):  # few heads leave SMs idle: the time stays
            row[place] = row[last] * HEADS[place] / HEADS[last]
        for place in range(last, len(HEADS)):
            row[place] = row[place - 1] if row[place] is None else row[place]
        rows.append([head_dim, tokens, *map(text, row)])
    write(output / f"attention-{gpu.name}.csv", ["head_dim", "tokens", *HEADS], rows)


def passes(own, shares, output):
    """PyTorch's attention on an H100 beside the forward pass of the table."""
    peak, rows = gpus.find("H100").tflops, {}
    times = own[own.group == "attention"].set_index(["variant", "shape", "pass"]).us
    for library, shape in sorted({key[:2] for key in times.index}):
        sizes = dict((key, int(value)) for key, value in (part.split("=") for part in shape.split()))
        forward, backward = (times[library, shape, which] for which in ("forward", "backward"))
        heads = min(2 ** round(np.log2(sizes["sequences"] * sizes["heads"])), 512)
        share = shares.get((sizes["head_dim"], sizes["tokens"], heads))
        flops = sizes["sequences"] * sizes["heads"] * sizes["tokens"] ** 2 * (sizes["head_dim"] + sizes["value_dim"])
        relative = share and forward / (flops / (peak * 1e6 * share))
        rows.setdefault((library, sizes["head_dim"], sizes["tokens"]), []).append((relative, backward / forward))
    lines = [[*key, *(f"{np.median([pair[i] for pair in pairs if pair[i]]):.3f}" for i in (0, 1))]
             for key, pairs in sorted(rows.items()) if any(pair[0] for pair in pairs)]
    write(output / "passes.csv", ["library", "head_dim", "tokens", "forward", "backward"], lines)


# -- errors

def left_out(points, along):
    """@return number, median and 90th percentile of errors: each inner point is predicted from its neighbours on an
    axis"""
    errors = []
    for axis in along:
        grid = sorted({key[axis] for key in points})
        logs = np.log(grid)
        for place in range(1, len(grid) - 1):
            weight = (logs[place] - logs[place - 1]) / (logs[place + 1] - logs[place - 1])
            for key in points:
                if key[axis] == grid[place]:
                    low, high = (points.get((*key[:axis], grid[place + step], *key[axis + 1:])) for step in (-1, 1))
                    if low and high:
                        errors.append(abs(low ** (1 - weight) * high ** weight / points[key] - 1))
    return len(errors), f"{np.median(errors):.3f}", f"{np.quantile(errors, 0.9):.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=pathlib.Path)
    parser.add_argument("own", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=REPOSITORY / "python/clustersim/workload/kernels")
    given = parser.parse_args()
    own, errors, relative = pd.read_csv(given.own, comment="#"), [], []
    for name in SYSTEMS:
        gpu, table = gpus.find(name), fastest(read(given.measurements, SYSTEMS[name], "gemm"))
        products(gpu, table, given.output)
        relative += precisions(name, table)
        errors.append([name, "products", *left_out({key: share for key, share in bfloat16_shares(gpu, table).items()
                                                    if key[0] in M and min(key) >= 256}, (0, 1, 2))])
        shares = attention_shares(gpu, given.measurements)
        attention(gpu, shares, given.output)
        if name == "H100":
            passes(own, shares, given.output)
        errors.append([name, "attention", *left_out({key: share for key,
                                                     share in shares.items() if key[1] in TOKENS and key[1] >= 1024
                                                     and 8 <= key[2] <= HEADS[-1]}, (1, 2))])
    write(given.output / "precisions.csv", ["gpu", "precision", "time", "bytes", "error", "error_p90"], relative)
    write(given.output / "errors.csv", ["gpu", "table", "points", "median", "p90"], errors)


if __name__ == "__main__":
    main()
