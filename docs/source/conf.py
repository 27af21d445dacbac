# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx configuration; everything comes from Debian packages and no page needs the network."""
project = "cluster-sim"
author = "The authors"
copyright = "the authors, GPL-2.0-only"
release = "0.1.0"
extensions = []
html_theme = "sphinx_rtd_theme"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["reference/configuration-keys.rst"]
highlight_language = "none"
