# SPDX-License-Identifier: LGPL-2.1-or-later
"""Letters and digits as strokes, on a grid of 4 x 6 with y downwards."""

WIDE, HIGH = 4, 6    # of a letter, in cells
ADVANCE = 5.6        # from a letter to the next, in cells
STROKES = {
    "A": "06 20 46|14 34", "B": "03 33 44 45 36 06 00 30 41 42 33",
    "C": "41 30 10 01 05 16 36 45", "D": "00 06 26 44 42 20 00", "E": "40 00 06 46|03 33",
    "F": "40 00 06|03 33", "G": "41 30 10 01 05 16 36 45 43 23", "H": "00 06|40 46|03 43",
    "I": "20 26|10 30|16 36", "J": "40 45 36 16 05", "K": "00 06|40 03 46", "L": "00 06 46",
    "M": "06 00 23 40 46", "N": "06 00 46 40", "O": "10 01 05 16 36 45 41 30 10",
    "P": "06 00 30 41 42 33 03", "Q": "10 01 05 16 36 45 41 30 10|24 46",
    "R": "06 00 30 41 42 33 03|23 46", "S": "41 30 10 01 02 13 33 44 45 36 16 05",
    "T": "00 40|20 26", "U": "00 05 16 36 45 40", "V": "00 26 40", "W": "00 16 22 36 40",
    "X": "00 46|40 06", "Y": "00 23 40|23 26", "Z": "00 40 06 46",
    "0": "10 01 05 16 36 45 41 30 10", "1": "11 20 26|16 36", "2": "01 10 30 41 42 06 46",
    "3": "01 10 30 41 42 33 44 45 36 16 05|23 33", "4": "36 30 04 44",
    "5": "40 00 02 32 43 45 36 16 05", "6": "40 20 01 05 16 36 45 44 33 13 04",
    "7": "00 40 16", "8": "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33",
    "9": "06 26 45 41 30 10 01 02 13 33 42", " ": "",
}
PLATE_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"    # without those that look like digits


def strokes(text):
    """Return the strokes of a text as lists of points x, y in cells."""
    out = []
    for place, letter in enumerate(text):
        for stroke in filter(None, STROKES[letter].split("|")):
            out.append([(int(pair[0]) + place * ADVANCE, int(pair[1])) for pair in stroke.split()])
    return out


def width(text):
    """Return the width of a text in cells."""
    return (len(text) - 1) * ADVANCE + WIDE


def plate_text(rng):
    """Return the text of a licence plate: two letters, three digits, a letter."""
    letters = [PLATE_LETTERS[rng.integers(len(PLATE_LETTERS))] for _ in range(3)]
    return f"{letters[0]}{letters[1]}{rng.integers(1000):03}{letters[2]}"
