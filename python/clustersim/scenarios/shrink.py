# SPDX-License-Identifier: GPL-2.0-only
"""Makes a failing scenario as small as it gets."""
import dataclasses

from clustersim.scenarios.checks import Refused, check


def _without_one(entries):
    for i in range(len(entries)):
        yield entries[:i] + entries[i + 1:]


def _halves(entries):
    if len(entries) > 3:
        middle = len(entries) // 2
        yield entries[:middle]
        yield entries[middle:]


def smaller(scenario):
    """Yields scenarios that have one thing less, the largest steps first."""
    replace = dataclasses.replace
    for flows in (*_halves(scenario.flows), *_without_one(scenario.flows)):
        if flows:
            yield replace(scenario, flows=flows)
    for layers in _without_one(scenario.layers):
        if layers:
            yield replace(scenario, layers=layers)
    if scenario.failures:
        yield replace(scenario, failures=())
    for conf in _without_one(scenario.conf):
        yield replace(scenario, conf=conf)
    if scenario.passes > 1:
        yield replace(scenario, passes=1)
    if scenario.servers > 2 and not scenario.flows:
        yield replace(scenario, servers=2, tp=1)
    for leaves, spines in ((1, 0), (scenario.leaves, 1)):
        if not scenario.failures and (leaves, spines) < (scenario.leaves, scenario.spines):
            yield replace(scenario, leaves=leaves, spines=spines)
    if scenario.spine_gbps != scenario.nic_gbps:
        yield replace(scenario, spine_gbps=scenario.nic_gbps)
    for i, (source, destination, size, start) in enumerate(scenario.flows):
        if size > 1:
            flow = (source, destination, size // 2, start)
            yield replace(scenario, flows=scenario.flows[:i] + (flow,) + scenario.flows[i + 1:])
    for i, (operation, group, size, compute) in enumerate(scenario.layers):
        if size > 1 or compute > 0:
            layer = (operation, group, max(size // 2, 1), compute // 2)
            yield replace(scenario, layers=scenario.layers[:i] + (layer,) + scenario.layers[i + 1:])


def shrink(scenario, name, programs, directory, limit=200):
    """@return the smallest scenario found that fails the check of that name, in at most limit tries"""
    tries = 0
    progress = True
    while progress and tries < limit:
        progress = False
        for candidate in smaller(scenario):
            tries += 1
            try:
                failure = check(candidate, programs, directory)
            except Refused:
                continue
            if failure and failure.check == name:
                scenario, progress = candidate, True
                break
            if tries >= limit:
                break
    return scenario
