# SPDX-License-Identifier: LGPL-2.1-or-later
"""Properties of elements by names of Python, with values of Python. What GStreamer would ignore
with a line in its log is an exception here."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._gi import GObject, Gst
from ._options import as_text, closest, dashed


# Properties of boxdecode that tensorinfer has too, but only for models that run on objects.
DECODER_PROPERTIES = frozenset(('include-classes', 'min-size'))


def names_of(elements: Iterable[Any]) -> set[str]:
    """Returns the names in Python of the properties of elements that may be set."""
    return {spec.name.replace('-', '_') for element in elements
            for spec in element.list_properties()
            if spec.flags & GObject.ParamFlags.WRITABLE and spec.name not in ('name', 'parent')}


def owner_of(name: str, elements: Iterable[Any],
             advise: Callable[[str, set[str]], str | None] = closest) -> Any:
    """Returns the first of the elements that has the property; for DECODER_PROPERTIES the last.

    advise: returns what may have been meant by an unknown name, of the known ones.

    Raises:
        TypeError: none has it, as for an unknown argument of a function.
    """
    elements = list(elements)
    for element in reversed(elements) if dashed(name) in DECODER_PROPERTIES else elements:
        if element.find_property(dashed(name)):
            return element
    name = name.replace('-', '_')
    meant = advise(name, names_of(elements))
    owners = ' or '.join(kind(each) for each in elements)
    raise TypeError(f'{name} is not a property of {owners}'
                    + (f': did you mean {meant}?' if meant else ''))


def kind(element: Any) -> str:
    """Returns the name of an element's factory, such as boxdecode."""
    return str(element.get_factory().get_name())


def _enum(element: Any, spec: Any, value: object) -> Any:
    """Returns the value of an enum by its name."""
    values = type(element.get_property(spec.name)).__enum_values__.values()
    names = {each.value_nick: each for each in values}
    value = as_text(value)
    if value not in names:
        raise ValueError(f'{spec.name} must be one of {", ".join(names)}, not {value}')
    return names[value]


def names_of_enum(element: str, name: str) -> list[str]:
    """Returns the names of an enum that is a property of a kind of element, the default first."""
    default = Gst.ElementFactory.make(element).get_property(name)
    others = (each.value_nick for each in type(default).__enum_values__.values())
    return [default.value_nick, *(each for each in others if each != default.value_nick)]


def _number(spec: Any, value: Any) -> Any:
    number = float(value) if spec.value_type.name in ('gfloat', 'gdouble') else int(value)
    if not spec.minimum <= number <= spec.maximum:
        raise ValueError(f'{spec.name} must be {spec.minimum:g} to {spec.maximum:g}, not {value}')
    return number


def set_property(element: Any, name: str, value: object) -> None:
    """Sets a property; numbers, texts, names of enums, lists and mappings are converted.

    Raises:
        TypeError: a value of another type.
        ValueError: a value out of its range, or an unknown name of an enum.
    """
    spec = element.find_property(dashed(name))
    if spec.value_type.is_a(GObject.TYPE_ENUM):
        value = _enum(element, spec, value)
    elif spec.value_type == GObject.TYPE_STRING:
        value = as_text(value)
    elif hasattr(spec, 'minimum'):
        value = _number(spec, value)
    element.set_property(spec.name, value)


def set_all(values: Mapping[str, tuple[Any, object]]) -> None:
    """Sets properties by name, each of an element; none of them if one of the values is wrong.

    Raises:
        TypeError, ValueError: as set_property().
    """
    before = []
    try:
        for name, (element, value) in values.items():
            before.append((element, name, element.get_property(name)))
            set_property(element, name, value)
    except (TypeError, ValueError):
        for element, name, old in before:
            element.set_property(name, old)
        raise
