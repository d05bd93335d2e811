#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the site of ./dev docs and follows its links.

usage: site.py BUILD
"""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

from tap import SOURCE, Skip, main

BUILD = pathlib.Path(*sys.argv[1:2])
TOOLS = ('mkdocs', 'gi-docgen')


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(attributes[name] for name in ('id', 'name') if attributes.get(name))
        self.links += [attributes[name] for name in ('href', 'src') if attributes.get(name)]


def build(folder, source=SOURCE):
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Skip(f'no {", ".join(missing)}: ./dev docs installs what it needs')
    if not (BUILD / 'gst/api/Keepbox-1.0.gir').exists():
        raise Skip('built without introspection')
    return subprocess.run([source / 'tools/docs/build', BUILD, folder / 'site'],
                          capture_output=True, text=True, check=False)


def broken(site):
    """Yields links within a site that lead nowhere. Pages of gi-docgen, which name headings of
    other libraries, are only checked for files."""
    pages = {path: Page(path) for path in site.rglob('*.html') if path.name != '404.html'}
    for path, page in pages.items():
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            aim = (path.parent / urllib.parse.unquote(target.path)).resolve()
            aim = path if not target.path else aim / 'index.html' if aim.is_dir() else aim
            if not aim.is_file():
                yield f'{path.relative_to(site)}: {link}'
            elif target.fragment and aim in pages and 'Keepbox-1.0' not in aim.parts and \
                    urllib.parse.unquote(target.fragment) not in pages[aim].anchors:
                yield f'{path.relative_to(site)}: {link}'


def test_links(folder):
    done = build(folder)
    assert not done.returncode and not done.stderr, done.stderr
    site = folder / 'site'
    for page in 'index.html', 'docs/python/index.html', 'reference/Keepbox-1.0/struct.Box.html':
        assert (site / page).is_file(), page
    assert 'max_detections' in (site / 'reference/python/index.html').read_text()
    found = list(broken(site.resolve()))
    assert not found, found


def test_nothing_is_fetched_from_elsewhere(folder):
    """The site works without a network, and its readers are not followed."""
    build(folder)
    for path in (folder / 'site').rglob('*.html'):
        for words in 'src="http', 'rel="stylesheet" href="http', 'fonts.g':
            assert words not in path.read_text(), f'{path}: {words}'


def test_a_broken_link_is_an_error(folder):
    source = folder / 'checkout'
    for name in 'docs', 'tools/docs', 'python':
        shutil.copytree(SOURCE / name, source / name)
    for path in SOURCE.glob('*.md'):
        shutil.copy(path, source)
    for name in 'pipelines', 'tests', 'tools/debian':
        (source / name).symlink_to(SOURCE / name)
    done = build(folder, source)
    assert not done.returncode, done.stderr
    for link in '[x](nosuch.md)', '[x](python.md#nosuch)', '![x](nosuch.png)':
        (source / 'docs/nms.md').write_text(f'{(SOURCE / "docs/nms.md").read_text()}\n{link}\n')
        done = build(folder, source)
        assert done.returncode and 'nosuch' in done.stderr, f'{link}: {done.stderr}'


if __name__ == '__main__':
    main(globals())
