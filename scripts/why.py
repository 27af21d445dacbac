#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Explains a run: the critical path of its iteration, what is on it, and what would shorten it.

    scripts/why.py RUN

The path goes from the last rank's end back to the start, through computations, collectives (to the rank that joined last) and
messages (to their senders). What-ifs are worked out on the path, then run: each repeats the run with one thing faster. If RUN has
no timeline of all ranks, it is repeated once with one. Results are in RUN/why.
"""
import sys

import checkout

checkout.require_modules("pydantic", "yaml")

from clustersim.why import command
from clustersim.workload.errors import InputError


def main(arguments):
    try:
        command.run(arguments, __doc__)
    except (InputError, OSError) as error:
        print(f"why.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
