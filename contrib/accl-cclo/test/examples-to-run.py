#! /usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only

# Programs of examples/ that ./test.py runs: (command, do_run, do_valgrind_run).
cpp_examples = [
    ("accl-allreduce", "True", "True"),
]
python_examples = []
