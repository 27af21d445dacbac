# SPDX-License-Identifier: GPL-2.0-only
"""Tests marked others_files compare with files that other people made (others_files.py) and run only beside them."""
import pytest
from others_files import OTHERS_FILES


def pytest_runtest_setup(item):
    if item.get_closest_marker("others_files") and not OTHERS_FILES.is_dir():
        pytest.skip("other people's files are not beside this checkout (../shared/data)")
