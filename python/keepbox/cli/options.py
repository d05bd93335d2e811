# SPDX-License-Identifier: LGPL-2.1-or-later
"""The options that name a model and say how it runs, and the properties that they are."""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
from typing import Any

from .. import _runtime
from .._options import as_text, closest, dashed, plain
from . import Failure, Usage

ROLE = 'keepbox-'  # begins the names that elements of a line have for this program only
INFER, DECODE, TRACK, OVERLAY = 'tensorinfer', 'boxdecode', 'boxtrack', 'boxoverlay'
# Options whose value is that of a property.
PROPERTIES = {
    'model': (INFER, 'model-file'), 'size': (INFER, 'input-size'), 'provider': (INFER, 'provider'),
    'detector': (DECODE, 'detector'), 'labels': (DECODE, 'label-file'),
    'classes': (DECODE, 'include-classes'), 'confidence': (DECODE, 'score-threshold'),
    'iou': (DECODE, 'iou-threshold')}
# Scores down to which boxes continue tracks, in the words of docs/tracking.md.
LOW_SCORE = .1
GRID = re.compile(r'[1-9]\d*(x[1-9]\d*)?(@0?\.\d+)?')
NO_MODEL = ('no model was given: add --model FILE.onnx; in a checkout of keepbox'
            ' --model pipelines/models/world-street.onnx finds vehicles and people')


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    group = parser.add_argument_group('the model')
    add = group.add_argument
    add('-m', '--model', metavar='FILE', help='ONNX file of the model')
    add('--labels', metavar='FILE', help='class names, one per line, if the model has none')
    add('--detector', metavar='NAME', help='its family, if it is not recognised: a name of keepbox'
        ' detectors, or a file')
    add('--classes', metavar='LIST', help='names or numbers of the classes to keep, with commas;'
        " '!plate' keeps all others")
    add('--confidence', metavar='SCORE', type=_fraction,
        help='keep boxes with higher scores, from 0 to 1 (default: that of the family)')
    add('--iou', metavar='OVERLAP', type=_fraction, help='suppress boxes that overlap a better one'
        ' by more, from 0 to 1 (default: that of the family)')
    add('--size', metavar='PIXELS', type=_size,
        help='side of the model input, or WIDTHxHEIGHT, if it is dynamic in the model')
    add('--track', metavar='METHOD', nargs='?', const='', help='give boxes of the same object the'
        ' same id, by a method of boxtrack (default: its own)')
    add('--tiles', metavar='GRID', type=_grid, help='run the model on parts of each frame, such as'
        ' 3x2, and on all of it, which finds small objects')
    add('--every', metavar='N', type=count, default=1, help='run the model on every Nth frame;'
        ' frames in between keep its boxes, which move with --track')
    add('--provider', metavar='NAME', help='where the model runs: auto, cpu, cuda (default: auto)')
    add('--set', metavar='NAME=VALUE', action='append', default=[], dest='more',
        help='any other property of tensorinfer or boxdecode, with --track of boxtrack, and where'
        ' boxes are drawn of boxoverlay, such as max-detections=50; keepbox gst-inspect-1.0'
        ' explains them')


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f'it must be a number from 0 to 1, not {text}')
    return value


def count(text: str) -> int:
    """Reads a number from 1."""
    if not re.fullmatch('[1-9][0-9]{0,8}', text):
        raise argparse.ArgumentTypeError(f'it must be a number from 1, not {text}')
    return int(text)


def _size(text: str) -> str:
    if not re.fullmatch('[1-9][0-9]*(x[1-9][0-9]*)?', text):
        raise argparse.ArgumentTypeError('it must be a number of pixels such as 640, or 640x384,'
                                         f' not {text}')
    return text


def _grid(text: str) -> str:
    if not GRID.fullmatch(text.removesuffix('+whole')):
        raise argparse.ArgumentTypeError('it must be columns x rows such as 3x2, or the side of'
                                         f' tiles in pixels such as 640, not {text}')
    return text if text.endswith('+whole') else f'{text}+whole'


def with_method(words: list[str]) -> list[str]:
    """Joins --track with a METHOD behind it, so that a source may follow a --track without one."""
    out: list[str] = []
    for word in words:
        if out and out[-1] == '--track=' and word in methods():
            out[-1] += word
        else:
            out.append('--track=' if word == '--track' else word)
    return out


def methods() -> list[str]:
    """Returns the methods of boxtrack, the default first."""
    if _runtime.folder() is not None:
        return list(_asked('methods'))
    from .._line import is_installed
    from .._properties import names_of_enum
    return names_of_enum(TRACK, 'method') if is_installed(TRACK) else []


def has_gpu() -> bool:
    """True if there is a GPU that decodes, and keepbox was built for it."""
    if _runtime.folder() is not None:
        return bool(_asked('has_gpu'))
    from . import gpu
    return gpu.is_possible()


@dataclasses.dataclass
class Settings:
    """The properties of the elements that turn frames into frames with boxes, and of the one that
    draws them; `track` is None without a tracker."""
    infer: dict[str, object]
    decode: dict[str, object]
    track: dict[str, object] | None
    overlay: dict[str, object] = dataclasses.field(default_factory=dict)

    def elements(self) -> dict[str, dict[str, object]]:
        """Returns the properties of each element, in the order of the line."""
        found = {INFER: self.infer, DECODE: self.decode}
        return found if self.track is None else {**found, TRACK: self.track}

    def for_detector(self) -> dict[str, Any]:
        """Returns the arguments of keepbox.Detector for the same elements."""
        tracker = None
        if self.track is not None:
            words = [f'{name}={as_text(value)}' for name, value in self.track.items()]
            tracker = ' '.join([TRACK, *words])
        named = {name.replace('-', '_'): value
                 for name, value in {**self.infer, **self.decode}.items()}
        return {'model': named.pop('model_file'), 'tracker': tracker, **named}


def settings_of(arguments: argparse.Namespace, live: bool = False,
                draws: bool = False) -> Settings:
    """Returns the properties that the options are.

    live: frames that come while the model is busy are not looked at.
    draws: boxes are drawn, so that --set has the properties of boxoverlay, too.

    Raises:
        Usage: an option is missing or wrong.
    """
    if not arguments.model:
        raise Usage(NO_MODEL)
    for option in 'model', 'labels':
        _check_file(option, getattr(arguments, option))
    if _runtime.folder() is not None:
        asked = _asked('settings', plain(vars(arguments)), live, draws)
        if 'usage' in asked:
            raise Usage(asked['usage'])
        return Settings(**asked)
    found = Settings({}, {}, None if arguments.track is None else {})
    elements = found.elements()
    for option, (element, name) in PROPERTIES.items():
        if getattr(arguments, option) is not None:
            elements[element][name] = getattr(arguments, option)
    if arguments.tiles:
        found.infer['tiles'] = arguments.tiles
    if arguments.every > 1:
        found.infer['interval'] = arguments.every
        if found.track is None:
            found.infer['hold'] = True
    if found.track is not None:
        if arguments.track:
            found.track['method'] = arguments.track
        if arguments.every > 1 or live:
            found.track['predict'] = True
        if arguments.confidence is None or arguments.confidence > LOW_SCORE:
            found.decode['track-score-threshold'] = LOW_SCORE
    _set_more({**found.elements(), **({OVERLAY: found.overlay} if draws else {})}, arguments.more)
    return found


def _asked(name: str, *arguments: object) -> Any:
    """Returns what the process with GStreamer knows."""
    from .._remote import connection
    return connection().call(name, 0, *arguments)


def _check_file(option: str, path: str | None) -> None:
    if path is None:
        return
    if not os.path.isfile(path):
        there = 'is a folder' if os.path.isdir(path) else 'does not exist'
        raise Usage(f'--{option}: {path} {there}: name a file')
    try:
        pathlib.Path(path).open('rb').close()
    except OSError as error:
        raise Usage(f'--{option}: {path} cannot be read: {error.strerror}') from error


def _set_more(elements: dict[str, dict[str, object]], more: list[str]) -> None:
    """Adds the properties of --set, and checks all values by elements that never play."""
    from .._properties import names_of, owner_of, set_property
    patterns = {kind: _made(kind) for kind in elements}
    for word in more:
        name, equals, value = word.partition('=')
        if not equals:
            raise Usage(f'--set {word} has no value: write --set NAME=VALUE')
        try:
            owner = owner_of(dashed(name), patterns.values())
        except TypeError:
            known = {each.replace('_', '-') for each in names_of(patterns.values())}
            meant = closest(dashed(name), known)
            raise Usage(f'--set {name}: {" and ".join(patterns)} have no such property: '
                        + (f'did you mean {meant}?' if meant else
                           'gst-inspect-1.0 lists those they have')) from None
        kind = next(kind for kind, pattern in patterns.items() if pattern is owner)
        elements[kind][dashed(name)] = value
    for kind, values in elements.items():
        for name, given in values.items():
            try:
                values[name] = _typed(patterns[kind].find_property(name), given)
                set_property(patterns[kind], name, values[name])
            except (TypeError, ValueError) as error:
                raise Usage(f'{_option_of(name)}: {error}') from error


def _made(kind: str) -> Any:
    """Returns an element. Raises Failure if it is missing."""
    from .._gi import Gst
    made = Gst.ElementFactory.make(kind)
    if made is None:
        package = '-overlay' if kind == OVERLAY else ''
        raise Failure(f'the element {kind} is missing: install gstreamer1.0-keepbox{package}')
    return made


def _typed(spec: Any, value: object) -> object:
    """Returns the text of a number or a boolean as one."""
    if not isinstance(value, str):
        return value
    if spec.value_type.name == 'gboolean':
        if value not in ('true', 'false'):
            raise ValueError(f'{spec.name} must be true or false, not {value}')
        return value == 'true'
    if hasattr(spec, 'minimum'):
        try:
            return float(value) if spec.value_type.name in ('gfloat', 'gdouble') else int(value)
        except ValueError:
            raise ValueError(f'{spec.name} must be a number, not {value}') from None
    return value


def _option_of(name: str) -> str:
    """Returns the option that a property was given by."""
    options = {property_: option for option, (_, property_) in PROPERTIES.items()}
    return f'--{options[name]}' if name in options else \
        '--track' if name == 'method' else f'--set {name}'
