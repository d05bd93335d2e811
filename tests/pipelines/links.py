#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that links of README.md and docs/ lead somewhere, and that README.md and the menu of the
site have all pages."""
import re

from tap import SOURCE, main, pages

DOCS = SOURCE / 'docs'


def links():
    """Yields each page with the targets of its links and pictures in the repository."""
    for page in pages():
        text = re.sub(r'^ *```.*?^ *```$', '', page.read_text(), flags=re.M | re.S)
        for target in re.findall(r'\]\(([^)]+)\)', text):
            if not target.startswith('http'):
                yield page, target


def anchors(page):
    """Returns the anchors that GitHub makes of a page's headings."""
    titles = re.findall(r'^#+ (.*)$', page.read_text(), re.M)
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles}


def test_links_and_pictures_lead_somewhere(folder):
    del folder
    found = list(links())
    assert len(found) > 50, found
    for page, target in found:
        path, _, anchor = target.partition('#')
        aim = (page.parent / path).resolve() if path else page
        assert aim.is_file(), f'{page.name} links {target}'
        assert not anchor or anchor in anchors(aim), f'{page.name} links {target}'


def test_every_page_is_linked_from_readme(folder):
    del folder
    readme, linked = SOURCE / 'README.md', set()
    for page, target in links():
        if page == readme:
            linked.add((readme.parent / target.partition('#')[0]).resolve())
    own = {page for page in pages() if page.parent == DOCS}
    assert own and own <= linked, own - linked


def test_the_menu_of_the_site_has_every_page_once(folder):
    """./dev docs fails otherwise, but only where MkDocs is installed."""
    del folder
    _, menu = (SOURCE / 'tools/docs/mkdocs.yml').read_text().split('\nnav:\n')
    listed = re.findall(r': (\S+\.md)$', menu, re.M)
    assert len(listed) == len(set(listed)), listed
    references = {page for page in listed if page.startswith('reference/')}
    for page in references:
        assert (SOURCE / 'tools/docs' / page.replace('/', '-')).is_file(), page
    own = {str(page.relative_to(SOURCE)) for page in (*pages(), *SOURCE.glob('*.md'))}
    assert set(listed) - references == own, own ^ (set(listed) - references)


if __name__ == '__main__':
    main(globals())
