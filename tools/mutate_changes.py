# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds changes of one token in a C++ file, from its text only."""
import hashlib
import re
from typing import NamedTuple

TOKEN = re.compile(r'''
    (?P<skip>//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'
      |^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  |(?P<number>\d(?:[\w.']|[eEpP][+-])*)
  |(?P<word>[A-Za-z_]\w*)
  |(?P<mark><=>|<<=|>>=|->|\+\+|--|<=|>=|==|!=|&&|\|\||\+=|-=|::|<<|>>|[^\s\w])
  ''', re.VERBOSE | re.MULTILINE | re.DOTALL)

MARKS = {'<': ['<=', '>'], '<=': ['<'], '>': ['>=', '<'], '>=': ['>'], '==': ['!='], '!=': ['=='],
         '+': ['-'], '-': ['+'], '&&': ['||'], '||': ['&&'], '++': ['--'], '--': ['++'],
         '+=': ['-='], '-=': ['+='], '!': ['']}
# Between spaces these are binary operators; otherwise brackets, signs and references.
BETWEEN_SPACES = {'<', '>', '+', '-', '&&', '||'}
PAIRS = [('x', 'y'), ('width', 'height'), ('min', 'max'), ('left', 'right'), ('top', 'bottom'),
         ('rows', 'columns'), ('first', 'last'), ('begin', 'end'), ('w', 'h'),
         ('x0', 'y0'), ('x1', 'y1'), ('front', 'back'), ('floor', 'ceil'), ('any_of', 'all_of'),
         ('lower_bound', 'upper_bound'), ('true', 'false'), ('continue', 'break')]
NUMBERS = {'0': '1', '1': '0', '0u': '1u', '1u': '0u', '0.f': '1.f', '1.f': '0.f',
           '0.0f': '1.0f', '1.0f': '0.0f', '0.0': '1.0', '1.0': '0.0'}
# Assertions, messages for developers and size hints do not change results.
UNTOUCHED = re.compile(r'^\s*(?:static_assert|assert|g_return_(?:val_)?if_fail|HWY_ASSERT|'
                       r'GST_(?:DEBUG|INFO|LOG|TRACE|WARNING|MEMDUMP)\w*|[\w.>-]*[.>]reserve|'
                       r'using|namespace|template)\b')
STATEMENT = re.compile(r'^(?:if \(.*\) |for \(.*\) )?'
                       r'(?:[\w:]+(?:(?:\.|->|::)\w+|\[[^\]]*\]|\(.*\))*\s*'
                       r'(?:[-+*/|&^%]?=\s.*|\(.*\)|\+\+|--)?|\+\+.*|--.*)$')
NO_STATEMENT = re.compile(r'^(?:else|using|case|default|static|const|constexpr|auto|typedef|'
                          r'namespace|public|private|template|struct|enum|class|friend|goto|extern|'
                          r'operator|if constexpr|do|try|return)\b')


class Change(NamedTuple):
    """One change of one line: its position in the text, and the replacement."""
    file: str
    line: int      # from 1
    text: str      # the line, trimmed
    nth: int       # index among equal changes of equal lines in this file
    start: int     # offsets in the file's text
    end: int
    new: str
    words: str     # the change as text: 'OLD -> NEW'

    def key(self):
        """A key that stays the same while other lines of the file change."""
        return f'{self.file}|{self.text}|{self.words}|{self.nth}'

    def order(self, seed):
        return hashlib.sha256(f'{seed}|{self.key()}'.encode()).hexdigest()


def untouched_spans(text):
    """Skips from the start of a statement that is left alone to its end."""
    spans = []
    for line in re.finditer(r'^.*$', text, re.MULTILINE):
        if UNTOUCHED.match(line.group()):
            end = re.compile(r'[;{]').search(text, line.start())
            spans.append((line.start(), end.end() if end else line.end()))
    return spans


def of_tokens(text, tokens):
    for before, token in zip([None, *tokens], tokens):
        old, start, end = token.group(), token.start(), token.end()
        if token.lastgroup == 'number' and old in NUMBERS:
            yield start, end, NUMBERS[old], f'{old} -> {NUMBERS[old]}'
        elif token.lastgroup == 'mark' and old in MARKS:
            spaced = text[start - 1] == ' ' and text[end:end + 1] in (' ', '\n')
            if spaced or old not in BETWEEN_SPACES:
                for new in MARKS[old]:
                    yield start, end, new, f'{old} -> {new or "nothing"}'
        elif token.lastgroup == 'word':
            # after a type it is a declaration, which would not compile
            declared = before and (before.lastgroup == 'word' and before.group() != 'return' or
                                   before.group() in ('&', '*') and text[start - 1] == ' ')
            for pair in PAIRS:
                if old in pair and not declared:
                    new = pair[1 - pair.index(old)]
                    yield start, end, new, f'{old} -> {new}'
            tail = re.compile(r' (?!true;|false;|\{\};|nullptr;|0;)[^;]+;').match(text, end)
            if old == 'return' and tail:
                yield start, tail.end(), 'return {};', 'return ... -> return {}'


def of_lines(text):
    """Statements on a single line, and bodies of single-line ifs and fors."""
    for line in re.finditer(r'^ +(\S.*;)(?: *//.*)?$', text, re.MULTILINE):
        body = line.group(1)[:-1]
        even = all(body.count(a) == body.count(b) for a, b in ('()', '[]', '{}'))
        if even and ';' not in body and not NO_STATEMENT.match(body) and STATEMENT.match(body) \
                and not re.fullmatch(r'\w+|continue|break', body):
            yield line.start(1), line.end(1), ';', 'statement -> nothing'
        elif even and re.match(r'if \(.*\) (?:return|continue|break)\b', body):
            yield line.start(1), line.end(1), ';', 'statement -> nothing'


def changes(file, text):
    """Returns all changes of a file, in textual order."""
    spans = untouched_spans(text)
    found = list(TOKEN.finditer(text))
    spans += [token.span() for token in found if token.lastgroup == 'skip']
    tokens = [token for token in found if token.lastgroup != 'skip']
    lines, seen, result = text.split('\n'), {}, []
    for start, end, new, words in sorted([*of_tokens(text, tokens), *of_lines(text)]):
        if any(a <= start < b for a, b in spans):
            continue
        row = text.count('\n', 0, start)
        line = lines[row].strip()
        nth = seen[line, words] = seen.get((line, words), -1) + 1
        result.append(Change(file, row + 1, line, nth, start, end, new, words))
    return result
