# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the program by `python -m keepbox`."""
import sys

from .cli import main

sys.exit(main())
