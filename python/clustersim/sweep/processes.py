# SPDX-License-Identifier: GPL-2.0-only
"""Runs processes side by side, within a bound on memory and on time for each."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import subprocess
import time

POLL_S = 0.02
PR_SET_PDEATHSIG = 1


@dataclasses.dataclass
class Task:
    """A process to run; log gets what it prints."""
    name: str
    command: list
    environment: dict
    log: pathlib.Path


@dataclasses.dataclass
class Outcome:
    task: Task
    exit_status: int
    wall_s: float
    peak_bytes: int
    reason: str = ""  # why it was killed, else empty


class _Running:
    def __init__(self, task):
        self.task = task
        self.start = time.monotonic()
        self.reason = ""
        libc = ctypes.CDLL(None)
        # A process that outlives the sweep would write into a directory that the next sweep uses.
        with open(task.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in task.command], env=task.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def memory_bytes(self):
        try:
            text = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
            return int(text.split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            return 0  # it has just ended

    def kill(self, reason):
        self.reason = self.reason or reason
        os.kill(self.process.pid, signal.SIGKILL)

    def ended(self):
        """@return the Outcome, or None while the process runs"""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Outcome(self.task, self.process.returncode, time.monotonic() - self.start,
                       usage.ru_maxrss * 1024, self.reason)


def run_all(tasks, jobs, memory_bytes, time_limit_s, on_start, on_end):
    """Runs the tasks, jobs at a time. One above memory_bytes or time_limit_s (or None) is killed.

    on_start(task) and on_end(outcome) are called as it happens. When this is interrupted, the
    processes are killed before the exception goes on.
    """
    waiting, running = list(tasks), []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop(0)
                on_start(task)
                running.append(_Running(task))
            for one in list(running):
                outcome = one.ended()
                if outcome:
                    running.remove(one)
                    on_end(outcome)
                elif one.memory_bytes() > memory_bytes:
                    one.kill(f"above its bound of {memory_bytes / 1e9:.3g} GB of memory")
                elif time_limit_s and time.monotonic() - one.start > time_limit_s:
                    one.kill(f"above its bound of {time_limit_s:g} s")
            time.sleep(POLL_S)
    finally:
        for one in running:
            one.kill("interrupted")
            one.process.wait()
