# SPDX-License-Identifier: BSD-2-Clause
"""For scripts that are run by make and run make."""

import os
import re

# Suites that build something of their own, which takes long and executes
# nothing of the library that was built for them.
BUILDING_SUITES = {"build", "docs", "mutants"}


def environment():
    """Without what the make above would tell the one below."""
    return {name: value for name, value in os.environ.items()
            if not re.match(r"(GNU)?(MAKE|M)(FLAGS|LEVEL|OVERRIDES)$", name)}
