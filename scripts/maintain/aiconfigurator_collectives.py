#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes tables that lab/accuracy.py reads of AIConfigurator's measurements of NCCL on 2, 4 and 8 GPUs of a server.

    scripts/maintain/aiconfigurator_collectives.py nccl_2_to_8_gpus.csv results/nccl
    lab/accuracy.py --measurements results/nccl

The file has a row for each measurement: system, version, op_name, nccl_dtype, num_gpus, message_size in elements,
latency in ms. A table is one collective of 2-byte elements on so many GPUs with one release of NCCL; of repeated
measurements it has the median."""
import argparse
import pathlib
import sys

import pandas as pd
import yaml

GPUS = {"a100_sxm": "A100", "h100_sxm": "H100", "b200_sxm": "B200", "gb200": "GB200", "gb300": "GB300", "l40s": "L40S",
        "rtx_pro_6000_server": "RTXPRO6000"}
CARD = pathlib.Path(__file__).resolve().parents[2] / "docs" / "source" / "data" / "measurements" / "machines.yaml"
TESTS = {"all_reduce": "all_reduce_perf", "all_gather": "all_gather_perf", "reduce_scatter": "reduce_scatter_perf",
         "alltoall": "alltoall_perf"}
ELEMENT = 2  # bytes of `half`


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    try:
        rows = pd.read_csv(options.file)
        rows = rows[rows.system.isin(GPUS) & (rows.nccl_dtype == "half") & rows.version.notna()]
        groups = rows.groupby(["system", "version", "op_name", "num_gpus"])
    except (OSError, ValueError, AttributeError, KeyError) as error:
        reason = " ".join(str(error).split())
        print(f"{options.file}: {reason}; expected a table of AIConfigurator's with the columns that --help names",
              file=sys.stderr)
        return 2
    options.directory.mkdir(parents=True, exist_ok=True)
    tables = {}
    for (system, version, op, gpus), group in groups:
        name = f"{op}_1x{gpus}x{GPUS[system]}_{version}"
        times = group.groupby("message_size").latency.median()
        lines = [f"# AIConfigurator, {system}, NCCL {version}, {op} of half on {gpus} GPUs",
                 "size_bytes,time_us,busbw_GBps"]
        lines += [f"{size * ELEMENT},{1000 * latency:.3f}," for size, latency in times.items()]
        (options.directory / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        tables[name] = {"gpu": GPUS[system], "gpus_per_server": int(gpus), "nccl": str(version), "test": TESTS[op]}
    card = yaml.safe_load(CARD.read_text(encoding="utf-8"))
    # No server of these tables uses its NICs; PCIe of all of them carries 200 Gb/s.
    machines = {"defaults": card["defaults"] | {"nic_gbps": 200}, "tables": tables}
    (options.directory / "machines.yaml").write_text(yaml.safe_dump(machines, sort_keys=False), encoding="utf-8")
    print(f"{options.directory}: {len(tables)} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
