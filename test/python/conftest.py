# SPDX-License-Identifier: GPL-2.0-only
"""Tests marked others_files compare with files that other people made (others_files.py) and run only beside them.

Beside its JUnit file, which it writes at its end, pytest keeps a file of the tests that have begun and ended: whoever
stops it, test/summary.py counts them.
"""
import json
import pathlib

import pytest
from others_files import OTHERS_FILES


def pytest_runtest_setup(item):
    if item.get_closest_marker("others_files") and not OTHERS_FILES.is_dir():
        pytest.skip("other people's files are not beside this checkout (../shared/data)")


class Progress:
    """A line of JSON for each test that begins or ends: name, outcome, reason."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w", encoding="utf-8", buffering=1)

    def _say(self, name, outcome, reason=""):
        self.file.write(json.dumps([name, outcome, reason]) + "\n")

    def pytest_runtest_logstart(self, nodeid, location):
        self._say(nodeid, "begun")

    def pytest_runtest_logreport(self, report):
        if report.outcome == "skipped":
            self._say(report.nodeid, "skipped", report.longrepr[2] if isinstance(report.longrepr, tuple)
                      else str(report.longrepr))
        elif report.outcome == "failed":
            crash = getattr(report.longrepr, "reprcrash", None)
            self._say(report.nodeid, "failed", crash.message if crash else str(report.longrepr))
        elif report.when == "call":
            self._say(report.nodeid, "passed")


def pytest_configure(config):
    path = getattr(config.option, "xmlpath", None)
    if path and not hasattr(config, "workerinput"):  # pytest-xdist's workers report to the process that writes the file
        config.pluginmanager.register(Progress(pathlib.Path(path).with_suffix(".progress")))
