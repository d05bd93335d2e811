# SPDX-License-Identifier: LGPL-2.1-or-later
"""Errors and warnings of elements as exceptions and warnings of Python."""
from __future__ import annotations

import pathlib
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

HERE = str(pathlib.Path(__file__).parent)
# Names of the elements that read a source.
DECODER = 'keepbox-decodebin'
READERS = ('keepbox-source', DECODER)
# Properties of elements whose values are secret.
SECRETS = re.compile(
    r'(?i)(?<![\w-])((?:\w+-)*(?:user|user-id|proxy-id|user-pw|proxy-pw|pass|passwd|password'
    r'''|passphrase|secret|token))\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s!&;,]+)''')


class Error(RuntimeError):
    """An element failed; the stream has ended.

    Attributes:
        message: what is wrong, then what to do.
        element: the name of the element that failed, such as 'tensorinfer0'; '' if unknown.
        details: further information of the element for debugging; '' if there is none.
        source: the file, device or URI (without a password) that cannot be read; '' if something
            else is wrong, or the source is elements of yours.
    """

    def __init__(self, message: str, element: str = '', details: str = '',
                 source: str = '') -> None:
        super().__init__(message)
        self.message, self.element, self.details = message, element, details
        self.source = source

    def __str__(self) -> str:
        where = self.source or self.element
        return f'{where}: {self.message}' if where else self.message


class ElementWarning(UserWarning):
    """An element goes on, but assumed something or left something out. The text has what is wrong,
    then what to do. It is raised as any Python warning is: `warnings.simplefilter('error',
    keepbox.ElementWarning)` makes it an exception."""


def without_password(text: str) -> str:
    """Removes the users and passwords of URIs, and replaces those in properties of elements."""
    return SECRETS.sub(r'\1=...', re.sub(r'(?<=://)[^/?\s]*@', '', text))


def error_of(message: Any, source: str = '') -> Error:
    """Makes an exception of a Gst.Message of type ERROR, of a pipeline that reads a source."""
    error, details = message.parse_error()
    text, details = without_password(error.message), without_password(details or '')
    if not _reads(message.src):
        source = ''
    elif reason := _reason_in(details):
        text = f'{text.rstrip(".")}: {reason}'
    return Error(text, message.src.get_name() if message.src else '', details, source)


def _reads(element: Any) -> bool:
    """True for the elements that read a source, and those inside of them."""
    while element:
        if element.get_name() in READERS:
            return True
        element = element.get_parent()
    return False


def _reason_in(details: str) -> str:
    """Returns what the details of an error tell beyond its place in the code: their last line."""
    _, *lines = details.strip().split('\n')
    if not lines:
        return ''
    if lines[-1].startswith('Missing decoder: '):  # then its name, and its caps in brackets
        return f'{lines[-1].split(" (", 1)[0]}; on Debian install gstreamer1.0-libav'
    return lines[-1]


# Takes the warnings of a process that works for another one.
tell: Callable[[str], None] | None = None


def warn(text: str) -> None:
    """Issues an ElementWarning at the line of the program that called this package."""
    if tell is not None:
        tell(text)
        return
    frame, level = sys._getframe(), 1  # Python 3.11 has no skip_file_prefixes
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, ElementWarning, stacklevel=level)


def warn_of(message: Any) -> None:
    """Issues a Gst.Message of type WARNING."""
    error, _ = message.parse_warning()
    text = without_password(error.message)
    warn(f'{message.src.get_name()}: {text}' if message.src else text)


def failed_start(pipeline: Any, source: str = '') -> Error:
    """Returns the error of a pipeline that did not start."""
    from ._gi import Gst  # errors of what needs no GStreamer are defined here, too
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    return error_of(message, source) if message else Error('the pipeline did not start')
