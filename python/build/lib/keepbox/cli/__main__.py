# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the program by `python -m keepbox.cli`."""
import sys

from . import main

sys.exit(main())
