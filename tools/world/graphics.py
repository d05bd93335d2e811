# SPDX-License-Identifier: LGPL-2.1-or-later
"""Imports the bindings of the cairo library: pycairo, or else cairocffi, which has the same API."""
try:
    import cairo
except ImportError:
    import cairocffi as cairo    # pylint: disable=import-error

__all__ = ["cairo"]
