#! /usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The examples that ns-3's test.py runs: name and arguments, whether to run it, whether to run it
in valgrind."""

cpp_examples = [
    ("first-rdma", "True", "True"),
    ("second-rdma --senders=3 --bytes=100000", "True", "False"),
    ("background-traffic --load=tcp", "True", "False"),
    ("loss-recovery --megabytes=1", "True", "False"),
    ("congestion-by-delay --senders=4 --ms=2", "True", "False"),
    ("congestion-by-marks --senders=4 --ms=2", "True", "False"),
    ("congestion-by-telemetry --senders=4 --ms=2", "True", "False"),
]

python_examples = []
