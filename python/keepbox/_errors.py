# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors and warnings of elements as exceptions and warnings of Python."""
from __future__ import annotations

import pathlib
import warnings
from typing import Any

from ._gi import Gst

HERE = str(pathlib.Path(__file__).parent)


class Error(RuntimeError):
    """An element failed; the stream has ended.

    Attributes:
        message: what is wrong, then what to do.
        element: the name of the element that failed, such as 'tensorinfer0'; '' if unknown.
        details: further information of the element for debugging; '' if there is none.
    """

    def __init__(self, message: str, element: str = '', details: str = '') -> None:
        super().__init__(message)
        self.message, self.element, self.details = message, element, details

    def __str__(self) -> str:
        return f'{self.element}: {self.message}' if self.element else self.message


class ElementWarning(UserWarning):
    """An element goes on, but assumed something or left something out. The text has what is wrong,
    then what to do. It is raised as any Python warning is: `warnings.simplefilter('error',
    keepbox.ElementWarning)` makes it an exception."""


def error_of(message: Any) -> Error:
    """Makes an exception of a Gst.Message of type ERROR."""
    error, details = message.parse_error()
    return Error(error.message, message.src.get_name() if message.src else '', details or '')


def warn(text: str) -> None:
    """Issues an ElementWarning at the line of the program that called this package."""
    warnings.warn(text, ElementWarning, skip_file_prefixes=(HERE,))


def warn_of(message: Any) -> None:
    """Issues a Gst.Message of type WARNING."""
    error, _ = message.parse_warning()
    warn(f'{message.src.get_name()}: {error.message}' if message.src else error.message)


def failed_start(pipeline: Any) -> Error:
    """Returns the error of a pipeline that did not start."""
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    return error_of(message) if message else Error('the pipeline did not start')
