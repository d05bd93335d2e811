# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts of lines and zones."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Lines and zones as boxcount's text, or the numbers of each by name.
Shapes = str | Mapping[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Line:
    """Crossings of a line so far.

    Attributes:
        crossed: the number of crossings by direction: 'in' (from right to left, seen from its first
            point) and 'out', or the names that the line gives them.
        uncertain: the number of objects that began beyond the line where another one was lost
            before it, by direction. They are not part of `crossed`.
    """
    crossed: dict[str, int]
    uncertain: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Present:
    """An object in a zone.

    Attributes:
        id: its tracking id, as in boxes.ids.
        seconds: how long it has been there.
        name: its class; '' if unknown.
        model: the name of its model; '' if unknown.
    """
    id: int
    seconds: float
    name: str = ''
    model: str = ''


@dataclasses.dataclass(frozen=True)
class Zone:
    """Visits of a zone so far.

    Attributes:
        visits: their number, with those of objects in the zone.
        mean, max: seconds of a visit; 0 without one.
        crowded: True while there are more objects than boxcount's crowd-alarm.
        present: the objects in it, in the order in which they came.
    """
    visits: int
    mean: float
    max: float
    crowded: bool = False
    present: tuple[Present, ...] = ()

    @property
    def now(self) -> int:
        """The number of objects in it."""
        return len(self.present)


@dataclasses.dataclass(frozen=True)
class Counts:
    """What was counted up to a frame; without boxcount there are no lines and zones.

    Attributes:
        lines, zones: by name. If two elements have a line of the same name, the second one's has a
            _ after it; likewise zones.
    """
    lines: dict[str, Line] = dataclasses.field(default_factory=dict)
    zones: dict[str, Zone] = dataclasses.field(default_factory=dict)


def named(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns values by name, each with one of its own."""
    out: dict[str, Any] = {}
    for name, value in values:
        while name in out:
            name += '_'
        out[name] = value
    return out


def packed(counts: Counts) -> dict[str, Any]:
    """Returns counts as values of JSON."""
    return dataclasses.asdict(counts)


def unpacked(about: Mapping[str, Any]) -> Counts:
    """Returns the counts that packed() was given."""
    zones = {name: Zone(**{**zone, 'present': tuple(Present(**each) for each in zone['present'])})
             for name, zone in about['zones'].items()}
    return Counts({name: Line(**line) for name, line in about['lines'].items()}, zones)


def _text_of(kind: str, name: str, values: Sequence[Any]) -> str:
    """Writes a line or zone as boxcount reads it."""
    if not isinstance(name, str) or not name or set(name) & set('=;'):
        raise ValueError(f'{name!r} in {kind} is not a name, which is a text without = and ;')
    flat: list[Any] = []
    for value in values:
        pair = not isinstance(value, str) and isinstance(value, Iterable)
        flat.extend(value if pair else [value])
    words = [each if isinstance(each, str) else repr(float(each)) for each in flat]
    if any(set(word) & set(',;') for word in words):
        raise ValueError(f'{name}: the names of directions must not have , and ;')
    return f'{name}={",".join(words)}'


def _property(kind: str, shapes: Shapes | None) -> str:
    """Returns a property of boxcount with its value in quotes; '' without one."""
    if not shapes:
        return ''
    text = shapes if isinstance(shapes, str) else ';'.join(
        _text_of(kind, name, values) for name, values in shapes.items())
    quoted = text.replace('\\', '\\\\').replace('"', '\\"')
    return f' {kind}="{quoted}"'


def with_counter(tracker: str, lines: Shapes | None, zones: Shapes | None) -> str:
    """Returns the elements after the decoder: those that give objects their ids, boxtrack if there
    are none, and boxcount if there are lines or zones."""
    properties = _property('lines', lines) + _property('zones', zones)
    return f'{tracker or "boxtrack"} ! boxcount{properties}' if properties else tracker
