# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small drawn town with exact truth: pictures of a street, a crossing and a square."""
