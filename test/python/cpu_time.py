# SPDX-License-Identifier: GPL-2.0-only
"""How long programs compute, whatever else the machine does."""
import resource


def cpu_seconds():
    """@return of all child processes that have ended"""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
