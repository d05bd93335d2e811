#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the number of boxes below each part of a picture.

usage: caption.py PICTURE.png [BOXES.jsonl WORDS]...

BOXES.jsonl is what boxsink wrote; the boxes of its last frame are counted. The parts are side by
side, as wide as each other. It needs pycairo (Debian: python3-cairo).
"""
import json
import sys

STRIP, TEXT = 44, 22    # height of the strip below a picture, and of its text, in pixels


def last_count(path):
    """Returns the number of boxes on the last frame of a file that the model looked at."""
    with open(path, encoding='utf-8') as lines:
        frames = [frame for frame in map(json.loads, lines) if not frame.get('skipped')]
    return len(frames[-1].get('objects', []))


def captioned(picture, texts):
    """Returns a picture with texts below its parts."""
    width, height = picture.get_width(), picture.get_height()
    out = cairo.ImageSurface(cairo.FORMAT_RGB24, width, height + STRIP)
    context = cairo.Context(out)
    context.set_source_rgb(1, 1, 1)
    context.paint()
    context.set_source_surface(picture, 0, 0)
    context.paint()
    context.set_source_rgb(0.12, 0.14, 0.2)
    context.select_font_face('sans-serif')
    context.set_font_size(TEXT)
    for number, text in enumerate(texts):
        place = width * (number + 0.5) / len(texts)
        context.move_to(place - context.text_extents(text).x_advance / 2,
                        height + STRIP / 2 + TEXT * 0.36)
        context.show_text(text)
    return out


def main(picture, *words):
    if len(words) % 2:
        sys.exit(f'caption.py: WORDS are missing after {words[-1]}')
    texts = [f'{last_count(path)} {text}' for path, text in zip(words[::2], words[1::2])]
    captioned(cairo.ImageSurface.create_from_png(picture), texts).write_to_png(picture)


if __name__ == '__main__':
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__)
        sys.exit()
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        import cairo
    except ImportError:
        sys.exit('caption.py: the Python module cairo is missing: install python3-cairo')
    main(*sys.argv[1:])
