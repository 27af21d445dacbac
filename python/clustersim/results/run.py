# SPDX-License-Identifier: GPL-2.0-only
"""One run directory."""
import functools
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TYPE_CHECKING

import pandas as pd

from clustersim import input_file
from clustersim.approximation import approximations_of
from clustersim.errors import InputError
from clustersim.results import files
from clustersim.results.breakdown import breakdowns
from clustersim.results.nodes import Nodes, find_topology, read_topology
from clustersim.results.reading import end_to_end, run_json
from clustersim.results.reading.collectives import read_collectives
from clustersim.results.reading.flows import read_flows
from clustersim.results.reading.links import read_links
from clustersim.results.reading.pauses import pauses_of, read_pause_events, read_paused_queues
from clustersim.results.reading.problem import Problems, ResultsError
from clustersim.results.reading.queues import read_queues
from clustersim.results.reading.reordering import read_reordering
from clustersim.results.reading.requests import (is_memory_trace, is_served, read_inference, read_instances,
                                                 read_memory, read_requests, read_served)
from clustersim.results.reading.samples import read_bandwidth, read_cnps, read_rates
from clustersim.results.reading.timeline import read_timeline
from clustersim.shown import Shown, Table

if TYPE_CHECKING:
    from clustersim.topology.reader import Topology

KINDS = ("info", "summary", "layers", "collectives", "flows", "pause_events", "paused_queues", "queues", "bandwidth",
         "rates", "cnps", "reordering", "links",
         "requests", "served", "inference", "instances", "memory", "timeline", "topology")
END_TO_END = "EndToEnd.csv"
Reader = Callable[[pathlib.Path, Problems], "pd.DataFrame | None"]


class Run(Shown):
    """A run directory; see the package's description for its properties."""

    def __init__(self, directory: str | os.PathLike, name: str | None = None,
                 topology: str | pathlib.Path | None = None) -> None:
        """
        @param directory or the file PREFIXEndToEnd.csv of a run whose files have a prefix (SimAI_analytical -r)
        @param name shown in tables (default: the directory's, or the prefix) @param topology file to use
        """
        self.directory = pathlib.Path(directory)
        self.prefix = ""
        if self.directory.is_file() and self.directory.name.endswith(END_TO_END):
            self.prefix = self.directory.name.removesuffix(END_TO_END)
            self.directory = self.directory.parent
        if not self.directory.is_dir():
            if self.directory.is_file():
                try:
                    input_file.refuse_foreign(directory, input_file.read_text(directory, "replace"),
                                              "the output directory of a run")
                except InputError as error:
                    raise ResultsError(str(error)) from None
                raise ResultsError(f"{directory}: is a file; expected the output directory of a run")
            raise ResultsError(f"{directory}: no such directory; expected the output directory of a run")
        self.name = name or self.prefix.rstrip("-_.") or self.directory.resolve().name
        self.problems = Problems()
        self._topology_file = topology
        self._check()

    def _check(self) -> None:
        if self._path("run.json").is_file():
            status = self.info.get("status", "finished")
            if status != "finished":
                self.problems.add(self._path("run.json"), 0, f"the status of the run is '{status}': "
                                  f"its results are of what it did until then", "'finished'")
            if approximate := approximations_of(self.info):
                self.problems.add(self._path("run.json"), 0, approximate, "the same run without it, to see by how much")
        elif not (self._numbered("EndToEnd") or self._foreign_end_to_end()
                  or self._path("collectives.csv").is_file()
                  or any(files.find_monitor(self.directory, kind, {}) for kind in files.MONITORS)):
            raise ResultsError(f"{self.directory}: holds no results; expected the output directory of a "
                               f"run (run.json, EndToEnd.csv, fct.txt, ...)")

    def __repr__(self) -> str:
        return self.headline()

    def headline(self) -> str:
        """@return the status, what was simulated and how long it took"""
        parts = [str(self.info.get("status", "no run.json"))]
        if self.simulated_ns is not None:
            parts.append(f"{self.simulated_ns / 1e3:,.3f} us simulated")
        parts += [f"{word} {value}" for word, value in (("workload", self.workload), ("topology", self.topology_name),
                                                        ("network", self.backend)) if value]
        return f"{self.directory}: {', '.join(parts)}"

    def lines(self) -> Iterator[str]:
        yield self.headline()
        for title, frame in self.tables():
            yield title
            yield frame.to_string(index=False)
        yield from map(str, self.problems)

    @property
    def parts(self) -> pd.DataFrame:
        """Where the time of each job went: job, part, us, share (of 1); without rows if the run had no iteration"""
        return pd.DataFrame([(job.name, part.name, part.us, part.us / job.total_us)
                             for job in breakdowns([self]) for part in job.parts],
                            columns=["job", "part", "us", "share"])

    def tables(self) -> Iterator[Table]:
        if len(self.parts) and not self.serves_requests:
            yield "where the time goes", self.parts
        if self.inference is not None:
            yield "requests (times in us)", self.inference
        elif self.collectives is not None and len(self.collectives):
            groups = self.collectives.groupby(["op", "kind", "ranks", "bytes"], as_index=False)
            yield "collectives, medians (ns, GB/s)", groups[["duration_ns", "algbw", "busbw"]].median()
        elif self.flows is not None:
            yield "flows", self.flows

    def _path(self, name: str) -> pathlib.Path:
        return self.directory / (self.prefix + name)

    def _numbered(self, stem: str) -> list[pathlib.Path]:
        return files.numbered(self.directory, self.prefix + stem)

    def _foreign_end_to_end(self) -> list[pathlib.Path]:
        return sorted(self.directory.glob("*EndToEnd*.csv"))

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """run.json as a dictionary; empty if there is none"""
        path = self._path("run.json")
        return run_json.read_run_json(path, self.problems) if path.is_file() else {}

    @property
    def options(self) -> dict[str, Any]:
        """Effective options of run.json by name"""
        return run_json.options_of(self.info)

    @property
    def workload(self) -> str:
        """Base name of the workload or of the flows, or an empty string"""
        return run_json.input_name(self.info, "workload") or run_json.input_name(self.info, "flows")

    @property
    def topology_name(self) -> str:
        """Base name of the topology, or an empty string"""
        return pathlib.Path(self._topology_file or str(self.info.get("topology", ""))).name or \
            run_json.input_name(self.info, "topology")

    @property
    def congestion_control(self) -> str:
        """Such as "DCQCN", or an empty string"""
        return run_json.congestion_control(self.info)

    @property
    def backend(self) -> str:
        """Such as "ns3", "flow" or "analytical", or an empty string if run.json does not say"""
        return str(self.info.get("network", self.info.get("backend", "")))

    @property
    def workload_identity(self) -> str:
        """A key that runs of the same workload share: its checksum, or else its name"""
        entry = run_json.input_of(self.info, "workload")
        return str(entry.get("sha256") or self.workload)

    @property
    def serves_requests(self) -> bool:
        """Whether the run served requests: it lasts as long as they come"""
        return self.served is not None or self.inference is not None

    @property
    def has_whole_network(self) -> bool:
        """Whether files of the network hold the run's traffic: with --fast-forward it is simulated beside the run"""
        return run_json.has_whole_network(self.info)

    def _lacks_traffic(self) -> bool:
        """@return whether files of the network lack the run's traffic, after saying so"""
        if not self.has_whole_network:
            self.problems.add(self._path("run.json"), 0,
                              "--fast-forward simulated the traffic beside the run: fct.txt, links.csv and monitors "
                              "lack it; what is made from them is left out", "a run without --fast-forward for these")
        return not self.has_whole_network

    @property
    def packets(self) -> bool:
        """Whether the run was simulated packet by packet, as far as is known"""
        return self.backend in ("", "ns3", "packet")

    def _missing(self, name: str) -> None:
        self.problems.add(self._path(name), 0, "the file is missing; what is made from it is left "
                                                    "out", "a file that the run writes")

    def _monitor(self, kind: str, read: Reader) -> pd.DataFrame | None:
        path = files.find_monitor(self.directory, kind, self.info)
        if self._lacks_traffic():
            return None
        if path:
            return read(path, self.problems)
        if self.info and self.packets:
            self._missing(files.monitor_name(kind, self.info))
        return None

    def _file(self, name: str, read: Callable[[pathlib.Path], pd.DataFrame | None],
              expected: bool) -> pd.DataFrame | None:
        path = files.whole_or_part(self._path(name))
        if path.is_file():
            return read(path)
        if expected:
            self._missing(name)
        return None

    @property
    def _has_collectives(self) -> bool:
        return bool(run_json.input_of(self.info, "workload"))

    @functools.cached_property
    def flows(self) -> pd.DataFrame | None:
        """Finished flows of fct.txt, a row each; None if the run wrote none, or with --fast-forward"""
        return self._monitor("fct", read_flows)

    @functools.cached_property
    def pause_events(self) -> pd.DataFrame | None:
        """Lines of pfc.txt: a row whenever a port pauses its peer or lets it go on"""
        return self._monitor("pfc", read_pause_events)

    @functools.cached_property
    def pauses(self) -> pd.DataFrame | None:
        """Pauses of ports from their begin to their end, a row each; one that does not end lasts until the end of the
        run"""
        events = self.pause_events
        return None if events is None else pauses_of(events, self.simulated_ns)

    @functools.cached_property
    def paused_queues(self) -> pd.DataFrame | None:
        """Queues that were paused, by the port and the priority that paused them (pauses.csv)"""
        if not self.has_whole_network:
            return None
        expected = self.packets and self.info.get("longest_pause_ns", 0) > 0
        return self._file("pauses.csv", lambda path: read_paused_queues(path, self.problems), expected)

    @functools.cached_property
    def queues(self) -> pd.DataFrame | None:
        """Sampled lengths of switch queues in bytes (queue.txt), without empty ones"""
        return self._monitor("qlen", read_queues)

    @functools.cached_property
    def queue_samples(self) -> int | None:
        """How often each port was looked at for queue.txt (empty ports have no line), or None"""
        if self.queues is None or "samples" in self.queues or not self.simulated_ns:
            return None
        sampling = self.queue_sampling
        return None if sampling is None else sampling[2]

    @functools.cached_property
    def queue_sampling(self) -> tuple[float, float, int] | None:
        """The first time at which ports were looked at for qlen.txt and the interval, in us, and how often; None if
        unknown"""
        if self.simulated_ns is None:
            return None
        try:
            start = float(self.options.get("QLEN_MON_START", self.options["MON_START"]))
            end = float(self.options.get("QLEN_MON_END", self.options["MON_END"]))
            interval = float(self.options["QLEN_MON_INTERVAL"])
            last = min(end, self.simulated_ns / 1000)
            return start, interval, int((last - start) // interval) + 1 if interval > 0 and last >= start else 0
        except (KeyError, ValueError, TypeError, OverflowError):
            return None

    @functools.cached_property
    def bandwidth(self) -> pd.DataFrame | None:
        """Sampled bandwidth of ports (bandwidth.txt)"""
        return self._monitor("bandwidth", read_bandwidth)

    @functools.cached_property
    def rates(self) -> pd.DataFrame | None:
        """Sampled sending rates of queue pairs in Gb/s (rate.txt)"""
        return self._monitor("rate", read_rates)

    @functools.cached_property
    def cnps(self) -> pd.DataFrame | None:
        """Congestion notifications that queue pairs got, counted up to each sample (cnp.txt)"""
        return self._monitor("cnp", read_cnps)

    @functools.cached_property
    def reordering(self) -> pd.DataFrame | None:
        """Queue pairs with packets out of order, and how far these were ahead (reordering.csv)"""
        if not self.has_whole_network:
            return None
        expected = self.packets and self.info.get("out_of_order_packets", 0) > 0
        return self._file("reordering.csv", lambda path: read_reordering(path, self.problems), expected)

    @functools.cached_property
    def _end_to_end(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        paths = self._numbered("EndToEnd") or self._foreign_end_to_end()
        if not paths:
            if self._has_collectives:
                self._missing("EndToEnd.csv")
            return None, None
        read = [end_to_end.read_end_to_end(path, self.problems) for path in paths]
        end_to_end.number_jobs(read)
        return (end_to_end.summary_frame([summary for summary, _ in read if summary]),
                end_to_end.layers_frame([layer for _, layers in read for layer in layers]))

    @property
    def summary(self) -> pd.DataFrame | None:
        """A row per job: its times in us, in all and by part (EndToEnd.csv)"""
        return self._end_to_end[0]

    @property
    def layers(self) -> pd.DataFrame | None:
        """A row per layer of each job, times in us (EndToEnd.csv)"""
        return self._end_to_end[1]

    @functools.cached_property
    def collectives(self) -> pd.DataFrame | None:
        """A row per collective and group: its times in ns, and bandwidths in GB/s"""
        frame = self._file("collectives.csv", lambda path: read_collectives(path, self.problems),
                           self._has_collectives)
        if frame is not None and (left_out := self.info.get("collectives_left_out")):
            self.problems.add(self._path("collectives.csv"), 0,
                              f"has the first {len(frame)} of {len(frame) + left_out} collectives and messages",
                              "a run with a larger --collectives-limit")
        return frame

    @functools.cached_property
    def links(self) -> pd.DataFrame | None:
        """A row per port: bytes, times in ns, marks, pauses and drops (links.csv)"""
        if self._lacks_traffic():
            return None
        return self._file("links.csv",
                          lambda path: read_links(path, self.simulated_ns, self.problems),
                          self._has_collectives and self.packets)

    def _jobs(self, paths: Sequence[pathlib.Path], read: Reader) -> pd.DataFrame | None:
        frames = [(str(i), read(path, self.problems)) for i, path in enumerate(paths)]
        frames = [frame.assign(job=name) for name, frame in frames if frame is not None]
        return pd.concat(frames, ignore_index=True) if frames else None

    @functools.cached_property
    def requests(self) -> pd.DataFrame | None:
        """Transfers of KV-cache workloads, by job"""
        paths = [path for path in self._numbered("requests") if not is_served(path)]
        return self._jobs(paths, read_requests)

    @functools.cached_property
    def served(self) -> pd.DataFrame | None:
        """Requests that inference workloads served, by job"""
        paths = [path for path in self._numbered("requests") if is_served(path)]
        return self._jobs(paths, read_served)

    @functools.cached_property
    def inference(self) -> pd.DataFrame | None:
        """Distributions of times, throughput and goodput of inference workloads, a row per metric and job"""
        return self._jobs(self._numbered("inference"), read_inference)

    @functools.cached_property
    def instances(self) -> pd.DataFrame | None:
        """A row per serving instance and job"""
        return self._jobs(self._numbered("instances"), read_instances)

    @functools.cached_property
    def memory(self) -> pd.DataFrame | None:
        """Bytes that tensors hold over time, by job"""
        return self._jobs([path for path in sorted(self.directory.glob("*.csv"))
                           if is_memory_trace(path)], read_memory)

    @functools.cached_property
    def timeline(self) -> pd.DataFrame | None:
        """Computations and collectives of ranks in time order (timeline.json); None unless the run recorded it"""
        return self._file("timeline.json", lambda path: read_timeline(path, self.problems), False)

    @functools.cached_property
    def simulated_ns(self) -> float | None:
        """Simulated time, of run.json or else the last end of a flow or collective; None if unknown"""
        if "simulated_ns" in self.info:
            return float(self.info["simulated_ns"])
        ends = []
        if self.flows is not None and len(self.flows):
            ends.append(float((self.flows["start_ns"] + self.flows["fct_ns"]).max()))
        if self.collectives is not None and len(self.collectives):
            ends.append(float(self.collectives["end_ns"].max()))
        return max(ends, default=None)

    @functools.cached_property
    def topology(self) -> "Topology | None":
        if self._topology_file:
            return read_topology(self._topology_file, self.problems)
        entry = run_json.input_of(self.info, "topology")
        path = entry.get("path") or self.info.get("topology")
        if not path:
            return None
        return find_topology(path, self.info, self.directory, entry.get("sha256"), self.problems)

    @functools.cached_property
    def nodes(self) -> Nodes:
        """Names and kinds of nodes and links"""
        return Nodes(self.topology)

    def read_all(self) -> Problems:
        """Reads every file, large ones too. @return the problems found"""
        for kind in KINDS:
            getattr(self, kind)
        return self.problems


def open_run(directory: str | os.PathLike, name: str | None = None, topology: str | pathlib.Path | None = None) -> Run:
    """@return the run in a directory @throw ResultsError if it holds no results"""
    return Run(directory, name, topology)


def _without_common_words(names: list[str]) -> list[str]:
    """@return the names without the words (joined by "__") that are the same in all of them"""
    words = [name.split("__") for name in names]
    if len(set(names)) < 2 or len({len(each) for each in words}) > 1:
        return names
    differ = [i for i, column in enumerate(zip(*words)) if len(set(column)) > 1]
    return ["__".join(each[i] for i in differ) for each in words]


def _holds_run(directory: pathlib.Path) -> bool:
    return (directory / "run.json").is_file() or bool(files.numbered(directory, "EndToEnd"))


def _runs_in(directory: pathlib.Path) -> list[pathlib.Path]:
    """@return the directory, or the runs in it if it is none itself"""
    if not directory.is_dir() or _holds_run(directory):
        return [directory]
    inside = sorted(path for path in directory.iterdir() if path.is_dir() and _holds_run(path))
    if not inside and (directory / "runs").is_dir():  # a sweep's
        return _runs_in(directory / "runs")
    return inside or [directory]


def open_runs(directories: Iterable[str | os.PathLike], topology: str | pathlib.Path | None = None) -> list[Run]:
    """Opens several runs, each with a name of its own: the last parts of the paths that differ.

    A directory without results of its own that holds run directories counts as these.
    Runs of a sweep (topology__conf__workload) are named after that in which they differ.
    """
    paths = [path for directory in directories for path in _runs_in(pathlib.Path(directory))]
    runs = [Run(path, topology=topology) for path in paths]
    for run, name in zip(runs, _without_common_words([run.name for run in runs])):
        run.name = name
    parts = 1
    while len({run.name for run in runs}) < len(runs) and parts < 64:
        parts += 1
        for run in runs:
            run.name = "/".join((run.directory.resolve() / run.prefix).parts[-parts:])
    return runs
