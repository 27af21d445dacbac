#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the benchmarks and prints one table, with ratios to ns-3's own devices on the same traffic.

    bench/run.py                 everything (about five minutes)
    bench/run.py --quick         smaller inputs, one run each (about a minute)
    bench/run.py --only ring-128 --runs 5
    bench/run.py --train --build DIR   the smaller whole runs once, for scripts/build.sh --profile trained

Build them first: scripts/build.sh -c all && cmake --build --preset release
Figures are CPU seconds of whole processes; the medians of runs taken in turn. Compare ratios: absolute figures are
those of the machine. 'simulating' is millions of packet-hops per second from the first event to the last, without
set-up and the writing of results, by the clock on the wall. Instructions are callgrind's, for those who have
valgrind."""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: 1 vpp: 1 ga: 1 "
          "all_gpus: {gpus} checkpoints: 0 checkpoint_initiates: 0\n1\n")
FORWARD = "layer\t-1\t1000\t{kind}\t{size}\t1\tNONE\t0\t1\tNONE\t0\t1\n"
GRADIENT = "layer\t-1\t1000\tNONE\t0\t1\tNONE\t0\t1\t{kind}\t{size}\t1\n"
WAITING = "layer\t-1\t1000000000\tNONE\t0\t1\tNONE\t0\t1\tNONE\t0\t1\n"  # a second, while other flows run
MIB = 1 << 20
CONGESTED = ("--nics_per_leaf", "16", "--oversubscription", "4")


def environment(**extra):
    """The caller's environment without settings that change the runs."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AS_", "NCCL_"))}
    return {**kept, **extra}


class Inputs:
    """Topologies and workloads, written when they are asked for."""

    def __init__(self, directory):
        self.directory = directory

    def topology(self, gpus, *arguments):
        """A generated topology of that many GPUs."""
        arguments = arguments if "-psn" in arguments else (*arguments, "-psn",
                                                           "64")  # as when the first results were written down
        path = self.directory / ("topology-" + "-".join([str(gpus), *arguments]).replace("/", ""))
        if not path.exists():
            scratch = self.directory / "generated"
            scratch.mkdir(exist_ok=True)
            subprocess.run([sys.executable, ROOT / "topologies" / "gen_Topo_Template.py", "-topo", "Spectrum-X",
                            "-g", str(gpus), *arguments], cwd=scratch, check=True, capture_output=True)
            next(scratch.iterdir()).rename(path)
        return path

    def workload(self, name, gpus, line, tp=1, ep=1):
        """A workload of one layer."""
        path = self.directory / f"{name}.txt"
        path.write_text(HEADER.format(tp=tp, ep=ep, gpus=gpus) + line)
        return path

    def incast(self, senders, size):
        """A flow file: everybody to host 0 at once."""
        path = self.directory / f"incast-{senders}-{size}"
        path.write_text(f"{senders}\n" + "".join(f"{src} 0 3 100 {size} 0\n" for src in range(1, senders + 1)))
        return path


def end_to_end_cases(inputs, quick):
    """name: (arguments of bench-end-to-end, environment)"""
    a100 = ("-gt", "A100", "-bw", "100Gbps")
    conf = ["-c", ROOT / "conf" / "SimAI.conf"]
    scale = 8 if quick else 1
    ring = {"NCCL_ALGO": "Ring"}
    gradient = GRADIENT.format(kind="ALLREDUCE", size=64 * MIB // scale)
    cases = {
        "ring-128": (["-w", inputs.workload("ring-128", 128, gradient), "-n", inputs.topology(128, *a100)], ring),
        "tree-128": (["-w", inputs.workload("tree-128", 128, gradient), "-n", inputs.topology(128, *a100)],
                     {"NCCL_ALGO": "Tree"}),
        "ring-1024": (["-w", inputs.workload("ring-1024", 1024, GRADIENT.format(
            kind="ALLREDUCE", size=64 * MIB // scale)), "-n", inputs.topology(1024, *a100)],
            {**ring, "AS_RING_CHANNELS": "1"}),
        "alltoall-128": (["-w", inputs.workload("alltoall-128", 128, FORWARD.format(
            kind="ALLTOALL_EP", size=64 * MIB // scale), ep=128), "-n", inputs.topology(128, *a100)], {}),
        "nvls-64": (["-w", inputs.workload("nvls-64", 64, FORWARD.format(
            kind="ALLREDUCE", size=256 * MIB // scale), tp=8), "-n", inputs.topology(64)],
            {"AS_NVLS_ENABLE": "1", "NCCL_ALGO": "NVLS"}),
        "incast-256": (["-w", inputs.workload("incast-256", 264, WAITING),
                        "-n", inputs.topology(264, *a100),
                        "--background-flows", inputs.incast(256, 16 * MIB // scale)], {}),
        "one-layer-128": (["-w", ROOT / "bench" / "one-layer.txt", "-n", inputs.topology(128, *a100),
                           "--comm-scale", str(1 / scale)], {}),
        "micro-128": (["-w", ROOT / "workloads" / "microAllReduce.txt", "-n", inputs.topology(128, *a100),
                       "--comm-scale", str(1 / scale)], {}),
    }
    return {name: (arguments + conf, extra) for name, (arguments, extra) in cases.items()}


FIGURE = re.compile(r"^(\S.*?) +(\d[\d.]*)")


def run(command, extra=None):
    """Runs a program that prints 'name   value' lines; returns them."""
    result = subprocess.run([str(part) for part in command], env=environment(**(extra or {})),
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {result.stderr.strip()}")
    return {match[1]: float(match[2]) for match in map(FIGURE.match, result.stdout.splitlines()) if match}


def instructions(command, extra, directory):
    """Instructions of a run of a program, counted by callgrind."""
    result = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory / 'callgrind'}",
                             *map(str, command)], env=environment(**extra), capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", result.stderr)[1])


class Bench:
    """Data that the parts of the report share."""

    def __init__(self, arguments, directory):
        self.programs = arguments.build / "bin"
        self.quick = arguments.quick
        self.runs = arguments.runs or (1 if arguments.quick else 3)
        self.only = arguments.only
        self.directory = directory
        self.inputs = Inputs(directory)

    def wanted(self, name):
        """Whether the user asked for a part."""
        return not self.only or name in self.only

    def train(self):
        """The whole runs, for a program that records what it does."""
        for name, (arguments, extra) in end_to_end_cases(self.inputs, True).items():
            run([self.programs / "bench-end-to-end", *arguments, "-o", self.directory / name], extra)

    def end_to_end(self):
        """Whole runs, beside the same traffic on ns-3's own devices."""
        cases = {name: case for name, case in end_to_end_cases(self.inputs, self.quick).items() if self.wanted(name)}
        speeds = {name: [] for name in cases}
        simulating = {name: [] for name in cases}
        figures = {}
        yardstick = {"global": [], "nix": []}
        for _ in range(self.runs):
            for name, (arguments, extra) in cases.items():
                output = self.directory / name
                figures[name] = run([self.programs / "bench-end-to-end", *arguments, "-o", output], extra)
                speeds[name].append(figures[name]["packet-hops per CPU s"])
                simulating[name].append(figures[name]["packet-hops per s"])
                if name == "ring-128":
                    for routing, results in yardstick.items():
                        results.append(self.yardstick(arguments, extra, routing))
        if not cases:
            return
        print(f"{'whole runs':16}{'packet-hops':>13}{'M hops/CPU s':>14}{'ns/hop':>8}{'simulating':>12}"
              f"{'events/hop':>12}"
              f"{'memory MB':>11}{'to ns-3':>9}{'nix':>6}")
        base = {routing: statistics.median(results) for routing, results in yardstick.items() if results}
        for name in cases:
            speed = statistics.median(speeds[name])
            ratio = f"{speed / base['global']:9.0f}{speed / base['nix']:6.0f}" if base else ""
            print(f"{name:16}{figures[name]['packet-hops']:13.0f}{speed:14.2f}{1000 / speed:8.0f}"
                  f"{statistics.median(simulating[name]):12.2f}{figures[name]['events per packet-hop']:12.2f}"
                  f"{figures[name]['peak memory']:11.0f}{ratio}")
        for routing, speed in base.items():
            print(f"{'ns-3, ' + routing:29}{speed:14.4f}{1000 / speed:8.0f}")

    def yardstick(self, arguments, extra, routing):
        """Packet-hops per CPU second of ns-3's devices on the flows of a smaller run of the same kind."""
        output = self.directory / "yardstick"
        if not output.exists():
            run([self.programs / "bench-end-to-end", *arguments, "--comm-scale", "0.0625", "-o", output], extra)
        return run([self.programs / "bench-yardstick", arguments[arguments.index("-n") + 1], output / "fct.txt",
                    routing])["packet-hops per CPU s"]

    def count(self):
        """Instructions per packet-hop of a small ring and of a small tree."""
        if not self.wanted("instructions") or not shutil.which("valgrind"):
            return
        small = end_to_end_cases(Inputs(self.directory / "small"), True)
        for name in ("ring-128", "tree-128"):
            arguments, extra = small[name]
            command = [self.programs / "bench-end-to-end", *arguments, "-o", self.directory / "counted"]
            hops = run(command, extra)["packet-hops"]
            print(f"instructions per packet-hop, {name}, 8 MiB: "
                  f"{instructions(command, extra, self.directory) / hops:.0f}")

    def memory(self):
        """Idle clusters, connections and flows."""
        if not self.wanted("memory"):
            return
        buffer = self.directory / "buffer.conf"
        buffer.write_text("BUFFER_SIZE 64\n")  # MiB: 240 ports need more than the default
        for gpus in (1024,) if self.quick else (1024, 15360):
            figures = run([self.programs / "bench-memory", self.inputs.topology(
                gpus, *(("-app", "240", "-asn", "240") if gpus > 4096 else ())), buffer])
            print(f"{gpus} GPUs: " + ", ".join(f"{value:.0f} {name}" if value >= 100 else f"{value:.1f} {name}"
                                               for name, value in figures.items() if name != "GPUs"))

    def monitors(self):
        """Cost of the monitors of a run with the shipped configuration."""
        if not self.wanted("monitors"):
            return
        arguments, extra = end_to_end_cases(self.inputs, self.quick)["ring-128"]
        off = ["--set", "MON_START=1000000000", "--set", "MON_END=2000000000"]
        ratios = []
        for _ in range(max(self.runs, 3)):
            seconds = [run([self.programs / "bench-end-to-end", *arguments, *keys, "-o", self.directory / "monitors"],
                           extra)["CPU seconds"] for keys in ([], off)]
            ratios.append(seconds[0] / seconds[1])
        print(f"monitors at their defaults: {100 * (statistics.median(ratios) - 1):.1f} % more CPU time than without "
              f"samples")

    def fast_forward(self):
        """An iteration of GPT on 128 GPUs: packets once, then fast-forward on every kind of network, then with a store
        that is filled."""
        if not self.wanted("fast-forward"):
            return
        text = (ROOT / "workloads" / "gpt_1024g_tp8_pp8.txt").read_text()
        workload = self.directory / "gpt-128.txt"
        workload.write_text(text.replace("all_gpus: 1024", "all_gpus: 128").replace("ga: 16", "ga: 8"))
        job = ["-w", workload, "-n", self.inputs.topology(128, "-gt", "A100", "-bw", "100Gbps"),
               "-c", ROOT / "conf" / "SimAI.conf", "-q", *(("--comm-scale", "0.125") if self.quick else ())]
        print(f"{'GPT, 128 GPUs':16}{'network':>12}{'CPU s':>9}{'fast-forward':>14}{'ratio':>7}{'difference':>12}"
              f"{'stored':>9}")
        for network in ("packet", "flow", "analytical"):
            whole, time = self.timed(*job, "--network", network, "--fast-forward=off")
            fast, close = self.timed(*job, "--network", network, "--fast-forward")
            stored = self.stored(*job, "--network", network)
            print(f"{'':16}{network:>12}{whole:9.2f}{fast:14.2f}{whole / fast:7.0f}"
                  f"{100 * (close / time - 1):11.4f}%{stored:9.2f}")

    def gpt_1024(self):
        """The whole iteration with fast-forward, without a store, filling one, and with a filled one."""
        if "fast-forward-1024" not in (self.only or ()):
            return
        job = self.gpt_1024_on("A100", "100Gbps")
        for network in ("packet", "flow", "analytical"):
            seconds = [self.timed(*job, "--network", network, "--fast-forward")[0],
                       self.stored(*job, "--network", network)]
            print(f"GPT, 1024 GPUs, {network}: {seconds[0]:.2f} CPU s with fast-forward, {seconds[1]:.2f} with a "
                  f"filled store")
        print(f"GPT, 1024 GPUs, analytical: {self.timed(*job, '--network', 'analytical')[0]:.2f} CPU s by default")

    def gpt_1024_h100(self):
        """The iteration on a fabric where pipeline messages collide: minutes even with fast-forward."""
        if "fast-forward-1024-h100" not in (self.only or ()):
            return
        seconds, _ = self.timed(*self.gpt_1024_on("H100", "400Gbps"), "--fast-forward")
        print(
            f"GPT, 1024 H100, 400 Gb/s, 64 spines: {seconds:.2f} CPU s with fast-forward, {self.simulated_patterns()}"
        )

    def gpt_1024_1_to_1(self):
        """The iteration where uplinks carry no more than the NICs, as the topology generator has it: many patterns."""
        if "fast-forward-1024-1-to-1" not in (self.only or ()):
            return
        for flags in (["--fast-forward"], ["--fidelity", "auto"]):
            seconds, _ = self.timed(*self.gpt_1024_on("A100", "100Gbps", "16"), *flags)
            print(f"GPT, 1024 A100, 100 Gb/s, 16 spines: {seconds:.2f} CPU s with {' '.join(flags)}, "
                  f"{self.simulated_patterns()}")

    def simulated_patterns(self):
        """The outcome of reuse in the last run, in words."""
        record = json.loads((self.directory / "timed" / "run.json").read_text())
        forward = record.get("fast_forward")
        return f"{forward['patterns_simulated']} patterns simulated" if forward else "which gave up reuse"

    def gpt_13b(self):
        """An iteration of GPT-13B on 128 GPUs (TP 8, DP 16, 40 layers, 8 micro-batches): five minutes with packets."""
        if "gpt-13b" not in (self.only or ()):
            return
        subprocess.run([sys.executable, ROOT / "scripts" / "workload.py", "--model_name", "gpt_13b", "--world_size",
                        "128", "--tp", "8",
                        "--sp", "--micro_batch", "1", "--global_batch", "128", "--gpu_type", "A100", "--output_dir",
                        self.directory,
                        "--name", "gpt-13b"], check=True, stdout=subprocess.DEVNULL)
        self.packets_and_fast_forward("GPT-13B, 128 GPUs", [
            "-w", self.directory / "gpt-13b.txt", "-n", self.inputs.topology(128, "-gt", "A100", "-bw", "100Gbps"),
            "-c", ROOT / "conf" / "SimAI.conf", "-q"])
        print()

    def serving(self):
        """Llama 3 70B on eight instances of TP 8 (64 H100, uplinks 1 to 1): ranks one by one beside ranks in step, and
        memory by the number of requests."""
        if not self.wanted("serving"):
            return
        topology = self.inputs.topology(64, "-gt", "H100", "-bw", "400Gbps", "-psn", "8")

        def job(requests):
            subprocess.run([sys.executable, ROOT / "scripts" / "workload.py", "--inference", "--model_name",
                            "llama3_70b", "--world_size", "64", "--tp", "8", "--requests", str(requests), "--rate",
                            "80", "--prompt_tokens", "1000", "--output_tokens", "100", "--output_dir", self.directory,
                            "--name", "serving"], check=True, stdout=subprocess.DEVNULL)
            return ["-w", self.directory / "serving.txt", "-n", topology, "-c", ROOT / "conf" / "SimAI.conf", "-q",
                    "--network", "flow", "--fast-forward"]

        few = 200 if self.quick else 2000
        one_by_one, time = self.timed(*job(few), "--collectives-limit", str(10 ** 9))
        in_step, same = self.timed(*job(few), "--collectives-limit", "0")
        print(f"serving, Llama 3 70B, TP 8, 64 H100, 1 to 1, {few} requests: {one_by_one:.2f} CPU s one by one, "
              f"{in_step:.2f} in step ({one_by_one / in_step:.0f} times), {'the same' if same == time else 'ANOTHER'} "
              f"end")
        for requests in (1000,) if self.quick else (10_000, 20_000, 100_000):
            seconds, _ = self.timed(*job(requests))
            record = json.loads((self.directory / "timed" / "run.json").read_text())
            print(f"{'':8}{requests} requests with 200,000 rows of collectives.csv: {seconds:.2f} CPU s, "
                  f"{record['peak_memory_bytes'] / 1e6:.0f} MB")

    def gpt_1024_on(self, gpu, rate, spines="64"):
        """Arguments of an iteration of GPT on 1,024 GPUs. 16 spines carry what the NICs do, 64 four times as much."""
        return ["-w", ROOT / "workloads" / "gpt_1024g_tp8_pp8.txt", "-n",
                self.inputs.topology(1024, "-gt", gpu, "-bw", rate, "-psn", spines),
                "-c", ROOT / "conf" / "SimAI.conf", "-q"]

    def nothing_repeats(self):
        """Collectives of as many sizes as there are, with and without fast-forward, in turn."""
        if not self.wanted("fast-forward-new"):
            return
        sizes = [(1 + layer / 16) * MIB * (1 if self.quick else 8) for layer in range(8)]
        workload = self.directory / "new.txt"
        workload.write_text("".join(f"1 ALLREDUCE {size:.0f} DP\n1 ALLTOALL {size:.0f} DP\n" for size in sizes))
        job = ["-w", workload, "--tp", "1", "-n", self.inputs.topology(64, "-gt", "A100", "-bw", "100Gbps"),
               "-c", ROOT / "conf" / "SimAI.conf", "-q"]
        ratios = []
        for _ in range(max(self.runs, 3)):
            whole, _ = self.timed(*job)
            ratios.append(self.timed(*job, "--fast-forward")[0] / whole)
        print(f"nothing repeats (16 collectives, 64 GPUs, {self.simulated_patterns()}): fast-forward takes "
              f"{100 * (statistics.median(ratios) - 1):.1f} % more CPU time")

    def groups(self):
        """DP AllReduce in 8 groups: what a packet-hop and a flow cost with 1,024 GPUs, beside 128."""
        if not self.wanted("groups"):
            return
        print(f"{'DP AllReduce, TP 8':34}{'ns/hop, 128':>12}{'1,024':>8}{'ratio':>7}{'us/flow, 128':>14}{'1,024':>8}"
              f"{'ratio':>7}")
        for gpu, rate in (("A100", "100Gbps"), ("H100", "400Gbps")):
            for size in ((4,) if self.quick else (64, 4)):
                costs = {}
                workload = self.directory / "groups.txt"
                workload.write_text(f"1 ALLREDUCE {size * MIB} DP\n")
                for _ in range(self.runs):
                    for gpus in (128, 1024):
                        figures = run([self.programs / "bench-end-to-end", "-w", workload, "--tp", "8",
                                       "-n", self.inputs.topology(gpus, "-gt", gpu, "-bw", rate),
                                       "-c", ROOT / "conf" / "SimAI.conf", "-o", self.directory / "groups"])
                        costs.setdefault(gpus, []).append((1e9 * figures["CPU seconds"] / figures["packet-hops"],
                                                           1e6 * figures["CPU seconds"] / figures["flows"]))
                hop, flow = ([statistics.median(cost[kind] for cost in costs[gpus]) for gpus in (128, 1024)]
                             for kind in (0, 1))
                print(f"{f'{size} MiB, {gpu}, {rate}':34}{hop[0]:12.0f}{hop[1]:8.0f}{hop[1] / hop[0]:7.2f}"
                      f"{flow[0]:14.2f}{flow[1]:8.2f}{flow[1] / flow[0]:7.2f}")

    def stored(self, *job):
        """CPU seconds with fast-forward and a store that another run has filled."""
        store = self.directory / "store"
        seconds = [self.timed(*job, "--fast-forward", "--fast-forward-store", store)[0] for _ in range(2)]
        store.unlink()
        return seconds[-1]

    def mixture_of_experts(self):
        """AllToAlls over 64 ranks: packets, fast-forward, and flows."""
        if not self.wanted("mixture-of-experts"):
            return
        print(f"{'MoE, 64 ranks':30}{'packets, CPU s':>16}{'fast-forward':>14}{'ratio':>7}{'difference':>12}"
              f"{'flows, CPU s':>14}{'difference':>12}")
        for name, arguments in (("no oversubscription", ()), ("4 to 1", CONGESTED)):
            job = self.all_to_alls(2 if self.quick else 6, 4, arguments)
            flows, fluid = self.timed(*job, "--network", "flow")
            time = self.packets_and_fast_forward(name, job)
            print(f"{flows:14.2f}{100 * (fluid / time - 1):11.4f}%")

    def all_to_alls(self, layers, batches, arguments):
        """Arguments of a job with two AllToAlls over 64 ranks for each layer and micro-batch."""
        workload = self.directory / f"moe-64-{layers}-{batches}.txt"
        line = "moe\t-1\t100000" + f"\tALLTOALL_EP\t{16 * MIB}\t100000" * 2 + "\tNONE\t0\t1\n"
        head = HEADER.format(tp=1, ep=64, gpus=64).replace("ga: 1", f"ga: {batches}").replace("\n1\n", f"\n{layers}\n")
        workload.write_text(head + line * layers)
        return ["-w", workload, "-n", self.inputs.topology(
            64, "-topo", "Clos2", "-gt", "A100", "-bw", "100Gbps", *arguments), "-c", ROOT / "conf" / "SimAI.conf",
                "-q"]

    def packets_and_fast_forward(self, name, job):
        """Print the CPU seconds of both and by how much the iteration differs. @return it"""
        whole, time = self.timed(*job)
        fast, close = self.timed(*job, "--fast-forward")
        print(f"{name:30}{whole:16.2f}{fast:14.2f}{whole / fast:7.0f}{100 * (close / time - 1):11.4f}%", end="")
        return time

    def threads(self):
        """On several threads and in several processes: every GPU sends to another one, and an AllReduce; wall time."""
        if not self.wanted("threads"):
            return
        gpus, size = (128, 16 * MIB) if self.quick else (1024, 32 * MIB)
        topology = self.inputs.topology(gpus, "-gt", "A100", "-bw", "100Gbps")
        flows = self.directory / "permutation"
        flows.write_text(f"{gpus}\n" + "".join(f"{src} {(src + gpus // 2) % gpus} 3 100 {size} 0\n"
                                               for src in range(gpus)))
        self.on_threads(f"{gpus} flows of {size // MIB} MiB", "qbb-flows", "-f", flows, "-n", topology)
        workload = self.inputs.workload("groups", gpus, GRADIENT.format(kind="ALLREDUCE", size=size), tp=8)
        self.on_threads(f"AllReduce of {size // MIB} MiB, {gpus} GPUs, TP 8", "SimAI_simulator", "-w", workload, "-n",
                        topology)

    def on_threads(self, name, program, *arguments):
        """A job on 1, 2, 4 ... threads, and in as many processes."""
        job = [*arguments, "-c", ROOT / "conf" / "SimAI.conf", "-q", "-o", self.directory / "threads"]
        counts = [str(count) for count in (1, 2, 4, 8, 16) if count <= (os.cpu_count() or 1)]
        cases = [((), ("-t", count)) for count in counts]
        if shutil.which("mpirun") and (self.programs / "simai-mpi.so").exists():
            cases += [(("mpirun", "--bind-to", "none", "-np", count), ()) for count in counts[1:]]
        variables = {**environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        seconds, efficiency = [[] for _ in cases], [1.0 for _ in cases]
        for _ in range(self.runs):
            for case, (launcher, flags) in enumerate(cases):
                subprocess.run([*launcher, self.programs / program, *job, *flags], env=variables, check=True)
                record = json.loads((self.directory / "threads" / "run.json").read_text())
                seconds[case].append(record["simulation_wall_s"])
                efficiency[case] = record.get("thread_efficiency", 1)
        one = statistics.median(seconds[0])
        for (launcher, flags), values, used in zip(cases, seconds, efficiency):
            wall = statistics.median(values)
            label = f"{launcher[-1]} processes" if launcher else " ".join(flags)
            print(f"{name}, {label:12}{wall:8.2f} s{one / wall:7.2f}"
                  f"{100 * used:7.0f}% efficiency")

    def timed(self, *arguments):
        """CPU seconds of a run of the simulator, with those of its copies, and its simulated time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = self.directory / "timed"
        subprocess.run([self.programs / "SimAI_simulator", *arguments, "-o", output], env=environment(), check=True,
                       stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return seconds, json.loads((output / "run.json").read_text())["simulated_ns"]

    def micro(self):
        """Google Benchmark's programs."""
        for program in ("bench-packet-path", "bench-scheduler", "bench-flow-graph", "congestion-benchmark"):
            if self.wanted(program):
                subprocess.run([self.programs / program, f"--benchmark_min_time={0.05 if self.quick else 0.5}"],
                               stderr=subprocess.DEVNULL, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller inputs, one run each")
    parser.add_argument("--runs", type=int, help="runs of each case (3; quick: 1)")
    parser.add_argument("--only", action="append",
                        help="a case, or instructions, memory, monitors, fast-forward, fast-forward-new, "
                        "mixture-of-experts, serving, threads, groups, or the name "
                             "of a micro-benchmark; may repeat; fast-forward-1024, fast-forward-1024-h100, "
                        "fast-forward-1024-1-to-1 and gpt-13b (minutes) run only "
                             "if named")
    parser.add_argument("--train", action="store_true", help="only the whole runs, smaller and once, without a report")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build directory")
    arguments = parser.parse_args()
    program = arguments.build / "bin" / "bench-end-to-end"
    if not program.exists():
        print(f"run.py: {program}: is not there; expected the programs: "
              "scripts/build.sh -c all && cmake --build --preset release", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = pathlib.Path(name)
        (directory / "small").mkdir()
        bench = Bench(arguments, directory)
        if arguments.train:
            bench.train()
            return 0
        for part in (bench.end_to_end, bench.count, bench.memory, bench.monitors, bench.fast_forward,
                     bench.nothing_repeats,
                     bench.gpt_1024, bench.gpt_1024_h100, bench.gpt_1024_1_to_1, bench.gpt_13b,
                     bench.mixture_of_experts, bench.serving, bench.threads, bench.groups,
                     bench.micro):
            part()
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
