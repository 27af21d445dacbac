# SPDX-License-Identifier: GPL-2.0-only
"""Runs one run of a sweep within its bounds on memory and time, on whichever machine it was sent to.

    python3 -m clustersim.sweep.supervisor [--while-locked FILE] JOB

JOB is what clustersim.sweep.runs.write_job() wrote. How the run ended is written to JOB's outcome, whole; the exit
status is 0 if the program's was, so that a workflow manager can repeat a run that failed.
"""
import argparse
import ctypes
import fcntl
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import types
from collections.abc import Iterable
from typing import NoReturn, TypedDict

from clustersim.simulation import environment
from clustersim.whole_file import write_text

POLL_S = 0.02
LOCK_POLL_S = 1
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


class Request(TypedDict):
    """The inputs that decide a result."""
    program: str  # its checksum
    options: list[str]
    environment: dict[str, str]
    inputs: dict[str, str]  # checksums by their roles


class Job(TypedDict):
    """A run that is to be done. Bounds of 0 are none."""
    directory: str
    command: list[str]
    environment: dict[str, str]
    request: Request
    memory_bytes: float
    time_limit_s: float
    outcome: str  # the file to write


class Outcome(TypedDict):
    """How a run ended."""
    exit_status: int
    wall_s: float
    peak_bytes: int
    reason: str  # why it was killed; empty if it was not


class Interrupted(BaseException):
    """A signal asks for the end of the run."""


def interrupt(number: int, frame: types.FrameType | None) -> NoReturn:
    """Handles a signal. @raise Interrupted always"""
    raise Interrupted(signal.Signals(number).name)


def memory_bytes(pid: int) -> int:
    """@return resident bytes of a process; 0 once it has ended"""
    try:
        text = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0  # it has just ended


def is_locked(path: str | os.PathLike) -> bool:
    """@return whether another process holds a lock on a file @raise OSError if there is no such file"""
    with open(path, encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Watch:
    """Says when a process has to be killed."""

    def __init__(self, job: Job, lock: str | None) -> None:
        self.memory_bytes = job["memory_bytes"]
        self.time_limit_s = job["time_limit_s"]
        self.lock = lock
        self.start = self.lock_seen = time.monotonic()

    def reason(self, pid: int) -> str:
        """@return why the process is to be killed, or an empty string"""
        now = time.monotonic()
        if self.memory_bytes and memory_bytes(pid) > self.memory_bytes:
            return f"above its bound of {self.memory_bytes / 1e9:.3g} GB of memory"
        if self.time_limit_s and now - self.start > self.time_limit_s:
            return f"above its bound of {self.time_limit_s:g} s"
        # A process that outlives the sweep would write into a directory that the next sweep uses.
        if self.lock and now - self.lock_seen > LOCK_POLL_S:
            self.lock_seen = now
            if not is_locked(self.lock):
                return "the sweep is gone"
        return ""


def prepare(directory: pathlib.Path, request: Request) -> None:
    """Makes the run's directory, without what an earlier attempt left in it."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in directory.iterdir():
        if file.is_file():
            file.unlink()
    write_text(directory / "sweep.json", json.dumps(request, indent=2) + "\n")


class SupervisedRun:
    """A run that is under way. Its program gets SIGKILL when this process ends, however that may be."""

    def __init__(self, job: Job, lock: str | None = None) -> None:
        """Starts the run. @param lock file that somebody has to lock, or the run is killed"""
        directory = pathlib.Path(job["directory"])
        prepare(directory, job["request"])
        with open(directory / "output.txt", "wb") as log:
            # Of a session of its own: the terminal's signals are for the sweep, which ends its runs.
            self._process = subprocess.Popen(job["command"], env=environment(job["environment"]),
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                             start_new_session=True, preexec_fn=_die_with_parent)
        self._watch = Watch(job, lock)
        self._reason = ""
        self.descriptor = os.pidfd_open(self._process.pid)  # readable once the program has ended

    def poll(self) -> Outcome | None:
        """Kills the run if it has to be. @return its outcome, once it has ended"""
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid == 0:
            if reason := self._watch.reason(self._process.pid):
                self.kill(reason)
            return None
        os.close(self.descriptor)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return {"exit_status": self._process.returncode, "wall_s": time.monotonic() - self._watch.start,
                "peak_bytes": usage.ru_maxrss * 1024, "reason": self._reason}

    def kill(self, reason: str) -> None:
        """Kills the program, which poll() then sees end."""
        self._reason = self._reason or reason
        self._process.kill()


_libc = ctypes.CDLL(None)  # loaded here: a new process must not load anything


def _die_with_parent() -> None:
    """Asks the kernel to kill this process when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for_any(running: Iterable[SupervisedRun]) -> None:
    """Waits until a run has ended, or it is time to look at their bounds."""
    poll = select.poll()
    for run in running:
        poll.register(run.descriptor, select.POLLIN)
    poll.poll(POLL_S * 1000)


def supervise(job: Job, lock: str | None = None) -> Outcome:
    """Runs a job. @return its outcome"""
    run = SupervisedRun(job, lock)
    while True:
        try:
            if outcome := run.poll():
                return outcome
            wait_for_any([run])
        except Interrupted:
            run.kill("interrupted")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="supervisor.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=pathlib.Path, help="the job's file")
    parser.add_argument("--while-locked", metavar="FILE", help="kill the run once nobody holds a lock on FILE")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    job = json.loads(options.job.read_text(encoding="utf-8"))
    outcome = supervise(job, options.while_locked)
    write_text(pathlib.Path(job["outcome"]), json.dumps(outcome) + "\n")
    return 0 if outcome["exit_status"] == 0 and not outcome["reason"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
