# SPDX-License-Identifier: GPL-2.0-only
"""Runs the checkout's own Python scripts in processes that need not load pandas and matplotlib again.

    done = run_script([ROOT / "scripts/plot.py", "fct", run], cwd=tmp_path)
    assert done.returncode == 0, done.stderr

A script is a process of its own, as its users start it: with its arguments, directory, environment, output and
exit status. Only its modules are those that this process has loaded, for most scripts spend more time on
loading than on their work. That scripts start from nothing, too, is what the pages' commands and test_scripts show.
"""
import functools
import importlib
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback

from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = ("pandas", "networkx", "matplotlib.figure", "matplotlib.backends.backend_agg",
         "matplotlib.backends.backend_svg")


@functools.cache
def _load():
    sys.path.insert(0, str(ROOT / "python"))
    for name in LARGE:
        importlib.import_module(name)


def _status_of(exit_code):
    if exit_code is None or isinstance(exit_code, int):
        return (exit_code or 0) & 0xFF
    print(exit_code, file=sys.stderr)
    return 1


def _be_script(command, cwd, env, out, err):
    """Never returns."""
    status = 1
    try:
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout = open(1, "w", closefd=False, encoding="utf-8")
        sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="backslashreplace", buffering=1)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = command
        sys.path.insert(0, os.path.dirname(os.path.realpath(command[0])))
        try:
            runpy.run_path(command[0], run_name="__main__")
            status = 0
        except SystemExit as ended:
            status = _status_of(ended.code)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def run_script(command, *, cwd=None, env=None, check=False, timeout=HANGS, output=None):
    """@param output path of standard output, if that is not to be returned
    @return what subprocess.run would with capture_output=True and text=True"""
    _load()
    command = [str(word) for word in command]
    command[0] = os.path.abspath(command[0])
    environment = {str(name): str(value) for name, value in (os.environ if env is None else env).items()}
    with (open(output, "w", encoding="utf-8") if output
          else tempfile.TemporaryFile("w+")) as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            signal.alarm(timeout)
            _be_script(command, cwd or os.getcwd(), environment, out, err)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err) if output is None else (err,):
            file.seek(0)
        done = subprocess.CompletedProcess(command, status, out.read() if output is None else "", err.read())
    if check:
        done.check_returncode()
    return done
