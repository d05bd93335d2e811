# SPDX-License-Identifier: LGPL-2.1-or-later
"""Colours and the frame of all charts: one colour per subject, in a light and a dark variant that a
reader's system chooses."""

# of each subject: on white, on dark grey
SUBJECTS = {
    'paper': ('#ffffff', '#1e2129'), 'ink': ('#212529', '#e9ecef'), 'faint': ('#dee2e6', '#3b404d'),
    'note': ('#495057', '#adb5bd'),
    'simd': ('#d6336c', '#f783ac'), 'reference': ('#868e96', '#adb5bd'),
    'element': ('#9c36b5', '#da77f2'), 'cuda': ('#1971c2', '#4dabf7'),
    'cuda-host': ('#0c8599', '#3bc9db'), 'opencv': ('#d9730d', '#ffc078'),
    'yolov8tensordec': ('#2f9e44', '#69db7c'), 'torch': ('#5c940d', '#c0eb75'),
    'fast-nms': ('#846358', '#d2bab0'),
    'input': ('#4263eb', '#91a7ff'), 'model': ('#099268', '#38d9a9'),
    'rest': ('#868274', '#99968b'),
    'memory': ('#c2255c', '#faa2c1'), 'heap': ('#e8590c', '#ffa94d'),
    'other-1': ('#6741d9', '#b197fc'), 'other-2': ('#2b8a3e', '#8ce99a'),
    'other-3': ('#a61e4d', '#fcc2d7'),
}
# the beginning of a contender's name, the longer one first
CONTENDERS = (
    ('keepbox cuda, system memory', 'cuda-host'), ('keepbox cuda', 'cuda'),
    ('keepbox simd', 'simd'), ('simd', 'simd'),
    ('keepbox reference', 'reference'), ('reference', 'reference'),
    ('element boxdecode', 'element'), ('element yolov8tensordec', 'yolov8tensordec'),
    ('OpenCV NMSBoxes', 'opencv'), ('PyTorch', 'torch'), ('fast NMS', 'fast-nms'))


def subjects_of(names):
    """Returns the subject of each contender. Those without one of their own, and the second of a
    subject, get one of the others in turn."""
    others, found = [name for name in SUBJECTS if name.startswith('other-')], {}
    for number, name in enumerate(names):
        known = [subject for start, subject in CONTENDERS if name.startswith(start)]
        free = known and known[0] not in found.values()
        found[name] = known[0] if free else others[number % len(others)]
    return found


def style():
    """Returns the colours as a style sheet, for elements with a subject as their class."""
    light, dark = (' '.join(f'.{name} {{color: {colours[variant]}}}'
                            for name, colours in SUBJECTS.items()) for variant in (0, 1))
    return f'<style>{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}</style>'


def paint(subject, what='fill'):
    """Returns the attributes that give an element its subject's colour."""
    return f'class="{subject}" {what}="currentColor"'


def svg(width, height, parts):
    """Returns a picture of that size."""
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13">', style(),
        f'<rect width="100%" height="100%" {paint("paper")}/>', f'<g {paint("ink")}>', *parts,
        '</g></svg>', ''])
