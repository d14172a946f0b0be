# SPDX-License-Identifier: MIT
"""A real Chromium without a window, driven over its debugging pipe: nothing but Python is needed.

    with Browser() as browser:
        page = browser.page('http://127.0.0.1:8480/')
        page.wait("document.querySelector('h1')")
        page.screenshot('overview.png')

Whatever a page complains about (an exception, a refused script, a failed request of its own code) is
kept in page.complaints.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 120


def program():
    """The path of Chromium; None where it is not installed."""
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        found = shutil.which(name)
        if found:
            return found
    return None


class Browser:
    """One process of Chromium, with a profile of its own that is deleted with it."""

    def __init__(self, language='en-US'):
        self.folder = tempfile.mkdtemp(prefix='tackle-browser.')
        ours, theirs = os.pipe(), os.pipe()  # to Chromium, from Chromium

        def place_pipes():  # Chromium reads commands from descriptor 3 and answers on 4
            low, high = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(
            [program(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--no-first-run', '--disable-background-networking', '--remote-debugging-pipe',
             '--user-data-dir=' + self.folder, '--accept-lang=' + language, 'about:blank'],
            preexec_fn=place_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            env={**os.environ, 'HOME': self.folder, 'LANGUAGE': language.replace('-', '_')},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.source = ours[1], theirs[0]
        self.rest, self.number, self.answers, self.pages = b'', 0, {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, session=None, **params):
        """Sends a command and waits for its answer; events that come before it are handed out."""
        self.number += 1
        number = self.number
        message = {'id': number, 'method': method, 'params': params}
        if session:
            message['sessionId'] = session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while number not in self.answers:
            self.hear()
        answer = self.answers.pop(number)
        if 'error' in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer['result']

    def hear(self):
        """Reads what Chromium says next."""
        while b'\0' not in self.rest:
            data = os.read(self.source, 1 << 16)
            if not data:
                raise RuntimeError('Chromium has ended')
            self.rest += data
        text, self.rest = self.rest.split(b'\0', 1)
        message = json.loads(text)
        if 'id' in message:
            self.answers[message['id']] = message
        elif message.get('sessionId') in self.pages:
            self.pages[message['sessionId']].note(message)

    def page(self, url, width=1200, height=900, dark=False):
        target = self.send('Target.createTarget', url='about:blank')['targetId']
        session = self.send('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = self.pages[session] = Page(self, target, session)
        for domain in ('Runtime', 'Page', 'Log', 'Network'):
            page.send(domain + '.enable')
        page.resize(width, height)
        page.send('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        page.open(url)
        return page


class Page:
    """A tab."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session
        self.complaints, self.requests = [], []

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def note(self, message):
        """Keeps what the page complains about, and whom it calls."""
        method, params = message['method'], message['params']
        if method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.complaints.append(details.get('exception', {}).get('description', details['text']))
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'assert'):
            self.complaints.append(str([a.get('value') for a in params['args']]))
        elif (method == 'Log.entryAdded' and params['entry']['level'] == 'error'
              and params['entry']['source'] != 'network'):  # a 404 is an answer like others
            self.complaints.append(params['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])
        elif method == 'Page.javascriptDialogOpening':
            self.complaints.append('a dialog opened: ' + params['message'])
            self.browser.number += 1
            os.write(self.browser.to, json.dumps({
                'id': self.browser.number, 'sessionId': self.session,
                'method': 'Page.handleJavaScriptDialog', 'params': {'accept': False}}).encode() + b'\0')

    def open(self, url):
        self.send('Page.navigate', url=url)

    def resize(self, width, height):
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def run(self, script):
        """The value of an expression, after its promise is kept."""
        result = self.send('Runtime.evaluate', expression=script, awaitPromise=True,
                           returnByValue=True, userGesture=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(script + ': ' + str(result['exceptionDetails'].get('exception')))
        return result['result'].get('value')

    def wait(self, script, what=None):
        """Waits until an expression is true, and returns its value."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                value = self.run(f'(() => {{ return {script}; }})()')
            except RuntimeError:
                value = None  # the page is being replaced
            if value:
                return value
            if time.monotonic() > until:
                raise AssertionError(f'{what or script} did not come; the page says: '
                                     + str(self.text())[:2000] + f'; complaints: {self.complaints}')
            time.sleep(0.05)

    def text(self):
        return self.run('document.body.innerText')

    def wait_text(self, text):
        return self.wait(f'document.body.innerText.includes({json.dumps(text)})', f'the text {text!r}')

    def click(self, selector, text=None):
        """Clicks on the first element of the selector, with this text if there is one."""
        wanted = json.dumps(text)
        find = (f'[...document.querySelectorAll({json.dumps(selector)})].find((e) => '
                f'{wanted} === null || e.textContent.trim() === {wanted})')
        self.wait(f'{find} ? true : false', f'{selector} {text or ""}')
        self.run(f'{find}.click()')

    def fill(self, selector, text):
        self.wait(f'document.querySelector({json.dumps(selector)}) ? true : false', selector)
        self.run(f'(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); '
                 f'e.value = {json.dumps(text)}; '
                 "e.dispatchEvent(new Event('input', {bubbles: true})); })()")

    def press(self, key):
        for kind in ('keyDown', 'keyUp'):
            self.send('Input.dispatchKeyEvent', type=kind, key=key,
                      text=key if kind == 'keyDown' and len(key) == 1 else '')

    def screenshot(self, path):
        data = self.send('Page.captureScreenshot', format='png', captureBeyondViewport=False)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.browser.pages.pop(self.session, None)
        self.browser.send('Target.closeTarget', targetId=self.target)
