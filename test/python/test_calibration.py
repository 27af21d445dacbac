# SPDX-License-Identifier: GPL-2.0-only
"""Hosts that are found from measured times, and what their messages then cost in a simulation."""
import csv
import os
import pathlib
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

from clustersim.physical import calibration  # noqa: E402
from clustersim.physical.host_model import FASTEST_BPS, Host, HostFit  # noqa: E402
from clustersim_lab.box import comparison  # noqa: E402

SIZES = numpy.array([1 << power for power in range(10, 29)])
EVERY_OTHER = numpy.arange(len(SIZES)) % 2 == 0
LIMIT = 4096 - 64


def ring_of_two(host):
    """@return microseconds of AllReduces: two steps of one message, from 64 KiB on of two, from 256 KiB on of four"""
    messages = numpy.where(SIZES < 1 << 16, 1, numpy.where(SIZES < 1 << 18, 2, 4))
    payload = SIZES / 2 / messages
    cost = numpy.zeros(len(SIZES))
    for above, us in host.costs:
        cost = numpy.where(payload > above, us, cost)
    each = cost + payload * 8e6 / host.rate_bps
    # The CPU moves one message after the other, and the next step waits for the first of them to arrive.
    return 2 * numpy.maximum(host.latency_us + each, messages * each)


def found(machine, disturb=1.0, known=(), searched=(), chosen=EVERY_OTHER):
    return HostFit(ring_of_two, ring_of_two(machine) * disturb, chosen).best(known, searched)


def assert_same(host, machine, rel=0.02):
    assert [above for above, _ in host.costs] == [above for above, _ in machine.costs]
    assert host.latency_us == pytest.approx(machine.latency_us, rel=rel)
    assert host.rate_bps == pytest.approx(machine.rate_bps, rel=rel)
    assert [us for _, us in host.costs] == pytest.approx([us for _, us in machine.costs], rel=rel)


@pytest.mark.parametrize("costs", [(), ((0, 11.0),), ((0, 4.0), (LIMIT, 9.0))])
def test_the_numbers_of_an_exact_machine_are_found(costs):
    machine = Host(25.0, 4e9, costs)
    assert_same(found(machine, known=[LIMIT]), machine)


def test_a_limit_that_nobody_tells_of_is_found_among_those_that_are_tried():
    machine = Host(3.0, 20e9, ((0, 6.0), (1 << 16, 40.0)))
    host = found(machine, searched=[1 << power for power in range(11, 20)])
    # No payload that is fitted is above 32 KiB and not above 64 KiB: either limit explains all.
    assert host.costs[1][0] in (1 << 15, 1 << 16)
    assert_same(Host(host.latency_us, host.rate_bps, (host.costs[0], (1 << 16, host.costs[1][1]))), machine)


def test_one_disturbed_measurement_does_not_move_the_numbers():
    machine, disturb = Host(5.0, 4e9, ((0, 11.0),)), numpy.ones(len(SIZES))
    disturb[4] = 3
    assert_same(found(machine, disturb, known=[LIMIT], searched=[1 << 12, 1 << 16]), machine, rel=0.03)


def test_noise_is_not_taken_for_costs_of_messages():
    machine = Host(25.0, 4e9)
    for seed in range(20):
        noise = numpy.exp(numpy.random.default_rng(seed).normal(0, 0.15, len(SIZES)))
        assert found(machine, noise, known=[LIMIT], searched=[1 << power for power in range(11, 20)]).costs == (), seed


def test_a_few_sizes_tell_no_more_than_rate_and_latency():
    machine = Host(25.0, 4e9, ((0, 11.0),))
    few = numpy.arange(len(SIZES)) % 4 == 0
    assert few.sum() == 5, "two numbers for five sizes"
    assert found(machine, chosen=few).costs == ()
    assert found(machine).costs != ()


def test_a_number_that_hardly_matters_stays_below_the_longest_time():
    # The cost of messages matters by a part in 1e9, and would explain the scatter of the largest sizes best.
    measured = numpy.full(len(SIZES), 50.0) + SIZES / 1e6
    fit = HostFit(lambda host: host.latency_us + SIZES / host.rate_bps
                  + sum(us for _, us in host.costs) * SIZES * 1e-15,
                  measured, EVERY_OTHER)
    host = fit._settle(Host(50, FASTEST_BPS, ((0, 1.0),)))
    assert host.costs[0][1] <= measured.max() and host.latency_us <= measured.max()


def test_no_number_becomes_negative():
    fit = HostFit(lambda host: ring_of_two(host) + 1e-6, SIZES / 1e3, EVERY_OTHER)
    host = fit.best()
    assert 0 <= host.latency_us < 1 and host.rate_bps == pytest.approx(8e9, rel=0.01)


def test_of_a_disturbed_measurement_the_minimum_counts():
    quiet = calibration.Row("ALLREDUCE", 65536, "fit", 80, 90, 9000, 1.0)
    busy = calibration.Row("ALLREDUCE", 65536, "fit", 80, 7800, 16000, 1.0)
    assert (quiet.disturbed, quiet.typical_us) == (False, 90)
    assert (busy.disturbed, busy.typical_us) == (True, 80)


def test_providers_tell_where_their_protocols_change():
    # SimAI_phynet's header of 64 bytes goes with each payload.
    assert calibration.provider_limits("shm", 4096, {}) == [4032]
    assert calibration.provider_limits("tcp;ofi_rxm", 64, {}) == [16384 - 64]
    assert calibration.provider_limits("tcp;ofi_rxm", 64, {"FI_OFI_RXM_BUFFER_SIZE": "600000"}) == [600000 - 64]
    assert calibration.provider_limits("efa", 0, {}) == []


def test_rows_of_hosts_say_what_messages_cost():
    bare = "Host: {generation: Hopper, channel_gbps: 1, usable_gbps: 1"
    assert Host(1, 8e9).row("Host") == bare + "}"
    costs = ((0, 4.5), (4032, 20.0))
    assert (
        Host(1, 8e9, costs).row("Host")
        == bare + ", messages: [{above: 0, us: 4.5, gbps: 1}, {above: 4032, us: 20, gbps: 1}]}"
    )
    assert Host(1, 8e9, ((0, 0.0), *costs[1:]),
                copies=False).row("Host") == bare + ", messages: [{above: 4032, us: 20}]}"


def simulated_us(directory, host, ranks, size, network):
    """@return the time of an AllReduce of such hosts"""
    directory.mkdir(exist_ok=True)
    workload = directory / "workload.txt"
    workload.write_text(f"1 ALLREDUCE {size} TP\n")
    comparison.simulate(workload, calibration.write_star(directory / "topology", ranks, host), directory / network,
                        network,
                        ("--tp", str(ranks), "--gpu-table",
                         str(calibration.write_hosts(directory / "hosts.yaml", host))))
    with (directory / network / "collectives.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    return (float(row["end_ns"]) - float(row["start_ns"])) / 1000


@pytest.mark.parametrize("network", ["packet", "flow", "analytical"])
def test_messages_cost_the_cpu_of_their_sender(tmp_path, network):
    def time(size, costs=(), copies=True):
        return simulated_us(tmp_path, Host(1, 100e9, costs, copies), 2, size, network)

    # Two steps of one message each: both wait for what it costs.
    assert time(1024, ((0, 20),)) - time(1024) == pytest.approx(2 * 20, rel=1e-3)
    assert time(1024, ((511, 20),)) - time(1024) == pytest.approx(2 * 20, rel=1e-3)
    assert time(1024, ((512, 20),)) == time(1024)
    # Two steps of two messages of 16 KiB each, one per channel: the CPU starts the next when it has moved the one
    # before.
    bytes_us = 16384 * 8 / 100e3
    last_us = time(16384 * 2) / 2  # of a message alone: its latency, and its bytes with their headers
    assert time(65536, ((0, 20),), copies=False) == pytest.approx(4 * 20 + last_us, rel=0.01)
    assert time(65536, ((0, 20),)) == pytest.approx(4 * 20 + 3 * bytes_us + last_us, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_numbers_of_a_simulated_machine_are_found(tmp_path, ranks):
    machine = Host(4.0, 20e9, ((0, 10.0), (LIMIT, 25.0)))
    run = calibration.Calibration(ranks, tmp_path)
    sizes = calibration.sizes_between(1 << 10, 1 << 24)
    times = run.simulate("ALLREDUCE", sizes, machine, "machine")
    rows = [calibration.Row("ALLREDUCE", size, "fit" if number % 2 == 0 else "check", time, time, time, 1.0)
            for number, (size, time) in enumerate(zip(sizes, times))]
    run.fit(rows, [LIMIT])
    run.predict(rows)
    run.rows = rows
    assert run.check_error() < 0.01
    assert_same(run.host, machine, rel=0.05)
