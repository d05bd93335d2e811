#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the page of `keepbox watch` in a headless Chromium."""
import contextlib
import re
import signal
import subprocess
import sys
import time

from browser import Browser, program
from common import MODEL, need_inference
from tap import CLIP, SOURCE, Skip, main

READY = "typeof at === 'function' && at('boxes').dataset.count > 0"
# Texts whose contrast with what is behind them is below 4.5, by the formula of WCAG.
FAINT = """(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number)
  const light = rgb => rgb.slice(0, 3).map(v => v / 255).map(
    v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce(
    (sum, v, index) => sum + v * [.2126, .7152, .0722][index], 0)
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = channels(getComputedStyle(element).backgroundColor)
      if (color.length === 3 || color[3] > .9) return color
    }
    return [255, 255, 255]
  }
  return [...document.querySelectorAll('main *, header *')].filter(
    each => each.offsetParent && !each.closest('#over') && each.tagName !== 'OPTION' &&
      [...each.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())
  ).map(each => {
    const [a, b] = [light(channels(getComputedStyle(each).color)), light(behind(each))].sort()
    return [each.textContent.trim().slice(0, 30), (b + .05) / (a + .05)]
  }).filter(each => each[1] < 4.5)
})()"""


@contextlib.contextmanager
def shown(folder, *words, width=1280, height=800, dark=False, ready=True):
    """Yields the program and a browser with its page."""
    if program() is None:
        raise Skip('no chromium')
    need_inference()
    line = [sys.executable, SOURCE / 'python/bin/keepbox', 'watch', *words, '--model', MODEL,
            '--listen', '127.0.0.1:0']
    with subprocess.Popen([*map(str, line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            url = process.stdout.readline().strip()
            with Browser(folder) as browser:
                browser.open(url, width, height, dark)
                if ready:
                    browser.wait(READY)
                yield process, browser
                assert not browser.complaints(), browser.complaints()
        finally:
            process.kill()


def count(browser):
    return int(browser.value("at('boxes').dataset.count"))


def test_picture_and_boxes(folder):
    with shown(folder, CLIP, '--loop', '--track') as (_, browser):
        first = int(browser.value("at('boxes').dataset.frame"))
        browser.wait(f"at('boxes').dataset.frame > {first + 5}")
        assert browser.value("at('state').textContent") == 'live'
        assert browser.value("at('over').hidden")
        colors = browser.value("""(() => {
            const {width, height} = picture
            const pixels = picture.getContext('2d').getImageData(0, 0, width, height)
            return new Set(new Uint32Array(pixels.data.buffer)).size })()""")
        assert colors > 50, f'{colors} colors'
        drawn = browser.value("""boxes.getContext('2d').getImageData(0, 0, boxes.width,
            boxes.height).data.some((value, index) => index % 4 === 3 && value)""")
        assert drawn, 'no box is drawn'
        for number in 'frames', 'looked', 'took', 'latency':
            browser.wait(f"/^\\d/.test(at('{number}').textContent)")
        browser.wait("/^now: .*\\d/.test(plot.getAttribute('aria-label'))")
        assert '1 viewer' in browser.text(), browser.text()


def test_slider_by_keyboard(folder):
    with shown(folder, CLIP, '--loop', '--confidence', '.3') as (_, browser):
        assert browser.value("at('confidence').value") == '0.3'
        browser.value("at('confidence').focus()")
        browser.press('ArrowRight')
        assert browser.value("at('confidence').value") == '0.31'
        browser.press('End')
        assert browser.value("at('shown').textContent") == '1.00' and count(browser) == 0
        labels = browser.value("plot.getAttribute('aria-label')")
        assert re.fullmatch(r'now: (\w+ (0|–),? ?)+', labels), labels
        browser.press('Home')
        assert browser.value("at('shown').textContent") == '0.10'
        browser.wait("at('boxes').dataset.count > 0", 10)


def test_classes_by_keyboard(folder):
    with shown(folder, CLIP, '--loop') as (_, browser):
        browser.wait("document.querySelectorAll('#classes input').length > 1")
        browser.value("at('none').focus()")
        browser.press(' ', 'Space', ' ')
        assert count(browser) == 0 and browser.value(
            "[...document.querySelectorAll('#classes input')].every(one => !one.checked)")
        browser.press('Tab')
        assert browser.value("document.activeElement.type") == 'checkbox'
        name = browser.value("document.activeElement.parentElement.textContent")
        browser.press(' ', 'Space', ' ')
        browser.wait("at('boxes').dataset.count > 0", 20)
        assert browser.value("[...classes].filter(([, one]) => one.on).length") == 1, name
        for _ in range(5):
            total = browser.value("""[Number(at('boxes').dataset.count),
                [...classes.values()].filter(one => one.on).reduce(
                (sum, one) => sum + Number(one.count.textContent), 0)]""")
            assert total[0] == total[1], total
            time.sleep(.1)
        browser.value("at('all').click()")
        assert browser.value("[...classes.values()].every(one => one.on)")


def test_frames_that_the_model_did_not_look_at(folder):
    with shown(folder, CLIP, '--loop', '--set', 'interval=10') as (_, browser):
        browser.wait("at('boxes').dataset.old === 'true' && at('boxes').dataset.count > 0", 20)
        assert browser.value("at('dashed').hidden") is False


def test_end(folder):
    with shown(folder, CLIP) as (process, browser):
        browser.wait("at('state').textContent === 'ended'", 60)
        assert 'The video has ended.' in browser.text() and process.wait(10) == 0
        time.sleep(1.5)
        assert browser.value("at('state').textContent") == 'ended'


def test_failure(folder):
    """A stream that breaks off: the page says why."""
    with shown(folder, f'filesrc location={CLIP} ! decodebin'
               ' ! identity error-after=40 ! videoconvert') as (process, browser):
        browser.wait("at('state').textContent === 'failed'", 60)
        reason = browser.value("at('over').innerText")
        assert 'Failed after iterations as requested' in reason and process.wait(10) == 1, reason


def test_lost_and_back(folder):
    with shown(folder, CLIP, '--loop') as (process, browser):
        process.send_signal(signal.SIGSTOP)
        browser.wait("at('state').textContent === 'no frames'", 20)
        process.send_signal(signal.SIGCONT)
        browser.wait("at('state').textContent === 'live'", 20)
        process.kill()
        browser.wait("at('state').textContent === 'connection lost'", 20)
        assert 'does not answer' in browser.text()
        browser.events.clear()  # refused connections are errors to the browser


def test_sources(folder):
    with shown(folder, CLIP, 'videotestsrc is-live=true', '--loop') as (_, browser):
        browser.value("at('source').value = '1'; at('source').dispatchEvent(new Event('change'))")
        browser.wait("at('state').textContent === 'live' && shown && picture.width === 320", 20)
        assert 'videotestsrc' in browser.value("document.title")


def test_looks(folder):
    """Nothing is wider than the window, and all text has contrast."""
    for width, dark in (1280, False), (1280, True), (390, False), (390, True):
        place = folder / f'{width}{dark}'
        place.mkdir()
        with shown(place, CLIP, '--loop', width=width, height=844, dark=dark) as (_, browser):
            assert browser.value("document.documentElement.scrollWidth") == width
            faint = browser.value(FAINT)
            assert not faint, (width, dark, faint)
            wide = browser.value("""[...document.querySelectorAll('main *, header *')].filter(
                each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth &&
                getComputedStyle(each).overflowX === 'visible' &&
                getComputedStyle(each).display !== 'inline').map(each => each.outerHTML)""")
            assert not wide, (width, wide)


def chosen():
    """Returns the tests whose names have a word of the command line, or all."""
    words = sys.argv[1:]
    return {name: test for name, test in globals().items()
            if not words or any(word in name for word in words)}


main(chosen())
