# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx configuration; everything comes from Debian packages and no page needs the network."""
import pathlib

project = "cluster-sim"
author = "The authors"
copyright = "the authors, GPL-2.0-only"
release = (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
extensions = []
html_theme = "sphinx_rtd_theme"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["reference/configuration-keys.rst"]
highlight_language = "none"
