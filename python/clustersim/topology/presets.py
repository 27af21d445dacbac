# SPDX-License-Identifier: GPL-2.0-only
"""What --preset sets: GPU type, NVLink rate of one GPU in one direction, NVLink delay.

A100 and A800 have the nominal rate. From Hopper on it is 80 % of the nominal rate, as in the
generator's default for H100 (2880 of 3600 Gb/s), so that a preset and the default agree. Delays are
the generator's default: no vendor publishes them.
"""
NV_LATENCY = "0.000025ms"
NVLINK = {
    "A100": "2400Gbps",   # 600 GB/s both ways
    "A800": "1600Gbps",   # 400 GB/s
    "H100": "2880Gbps",   # 900 GB/s x 0.8
    "H800": "1280Gbps",   # 400 GB/s x 0.8
    "H20": "2880Gbps",    # 900 GB/s x 0.8
    "H200": "2880Gbps",   # 900 GB/s x 0.8
    "B200": "5760Gbps",   # 1800 GB/s x 0.8
    "GB200": "5760Gbps",  # 1800 GB/s x 0.8
}


def preset(gpu_type):
    return dict(gpu_type=gpu_type, nvlink_bw=NVLINK[gpu_type], nv_latency=NV_LATENCY)
