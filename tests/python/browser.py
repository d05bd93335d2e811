# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium for tests, driven by the DevTools protocol over a pair of pipes."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

OPTIONS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
           '--no-first-run', '--disable-extensions', '--disable-background-networking',
           '--disable-component-update', '--hide-scrollbars', '--mute-audio',
           '--remote-debugging-pipe', 'about:blank']


def program():
    """Returns the browser, or None."""
    return shutil.which('chromium') or shutil.which('chromium-browser')


class Browser:
    """A browser with one page. folder: for its profile."""

    def __init__(self, folder):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # the numbers that it expects are 3 and 4
        self._process = subprocess.Popen(
            ['sh', '-c', f'exec "$@" 3<&{to_browser} 4>&{from_browser}', 'sh', program(),
             f'--user-data-dir={folder / "profile"}', *OPTIONS],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, 'HOME': str(folder)})
        os.close(to_browser)
        os.close(from_browser)
        self._numbers, self._rest, self.events = itertools.count(1), b'', []
        target = self._call('Target.createTarget', None, url='about:blank')['targetId']
        self._session = self._call('Target.attachToTarget', None, targetId=target,
                                   flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log':
            self.call(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self, seconds):
        """Returns the next message, None if none comes."""
        end = time.monotonic() + seconds
        while b'\0' not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            if not ready:
                return None
            data = os.read(self._in, 1 << 20)
            assert data, f'the browser has ended: {self._process.wait()}'
            self._rest += data
        text, _, self._rest = self._rest.partition(b'\0')
        return json.loads(text)

    def _call(self, method, session, **parameters):
        number = next(self._numbers)
        request = {'id': number, 'method': method, 'params': parameters}
        if session:
            request['sessionId'] = session
        os.write(self._out, json.dumps(request).encode() + b'\0')
        while answer := self._read(60):
            if answer.get('id') == number:
                assert 'error' not in answer, (method, answer['error'])
                return answer['result']
            self.events.append(answer)
        raise AssertionError(f'the browser does not answer {method}')

    def call(self, method, **parameters):
        """Calls a method of the protocol, and returns its result."""
        return self._call(method, self._session, **parameters)

    def open(self, url, width=1280, height=800, dark=False, scale=1):
        """Opens a page in a window of that size."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Page.navigate', url=url)

    def value(self, expression):
        """Returns the value of an expression in the page."""
        found = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                          awaitPromise=True)
        assert 'exceptionDetails' not in found, (expression, found['exceptionDetails'])
        return found['result'].get('value')

    def wait(self, expression, seconds=60):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while not (found := self.value(expression)):
            assert time.monotonic() < end, f'{expression} is still {found!r}: {self.text()[:600]}'
            time.sleep(.1)
        return found

    def text(self):
        """Returns what the page says."""
        return self.value('document.body ? document.body.innerText : ""')

    def press(self, key, code=None, text=None):
        """Presses a key."""
        for kind in 'keyDown', 'keyUp':
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={'Tab': 9, ' ': 32, 'ArrowRight': 39, 'ArrowLeft': 37,
                                             'End': 35, 'Home': 36}[key],
                      **({'text': text} if text and kind == 'keyDown' else {}))

    def screenshot(self, path, whole=False):
        """Writes what is seen, or the whole page, as PNG."""
        data = self.call('Page.captureScreenshot', captureBeyondViewport=whole)['data']
        path.write_bytes(base64.b64decode(data))

    def complaints(self):
        """Returns errors of scripts and what the browser refused."""
        self.value('1')
        return [each for each in self.events if each.get('method') == 'Runtime.exceptionThrown'
                or each.get('method') == 'Log.entryAdded'
                and each['params']['entry']['level'] == 'error']
