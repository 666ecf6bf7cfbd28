# SPDX-License-Identifier: BSD-2-Clause
"""Sphinx: how "make htmldocs" builds these pages."""

import pathlib
import re

HEADER = pathlib.Path(__file__).parent / "../include/slabdev/base.h"

project = "libslabdev"
copyright = "the libslabdev authors"
version = release = re.search(
    r'^#define SLABDEV_VERSION "(.*)"$', HEADER.read_text(), re.MULTILINE
).group(1)

html_theme = "alabaster"
html_theme_options = {"page_width": "62em", "show_powered_by": False}
html_show_copyright = False
html_copy_source = False
highlight_language = "none"
