# SPDX-License-Identifier: MIT
"""The dashboard in a real Chromium. Started by dashboard.sh with the address of tackle serve."""
import json
import os
import sys
import time
import urllib.error
import urllib.request

from browser import Browser

BASE = sys.argv[1]
SECRET = sys.argv[2] if len(sys.argv) > 2 else None

# Names and payloads that would run, or turn the page around, if they were taken for HTML.
HOSTILE = ['<img src=x onerror=alert(1)>', '"><script>window.pwned=1</script>', '\u202egnp.exe',
           "';alert(1)//", 'a/b?c#d&e=f', '{{7*7}}', '~tilde', 'javascript:alert(1)', '%00%2e%2e',
           'x' * 300, ' ', '队列']


def call(route, **fields):
    """Calls the HTTP interface as any other client does."""
    headers = {'Authorization': 'Bearer ' + SECRET} if SECRET else {}
    request = urllib.request.Request(f'{BASE}/v1/{route}', json.dumps(fields).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f'{route} {fields}: {error.read()[:500]}') from None


def eventually(check, what):
    until = time.monotonic() + 120
    while not check():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def show(page, path):
    """Opens a page by its address, and waits for its heading."""
    page.run(f'location.hash = {json.dumps("#/" + path)}')
    page.wait("document.querySelector('main h1') !== null")


def is_clean(page):
    """Nothing was executed, refused or thrown, and nobody else was called."""
    assert page.complaints == [], page.complaints
    assert page.run('window.pwned === undefined')
    foreign = [url for url in page.requests if not url.startswith((BASE, 'about:', 'data:'))]
    assert foreign == [], foreign


def refuses_html(page):
    """The policy forbids to make HTML from strings, and scripts in the page."""
    refused = page.run("(() => { try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); "
                       "return false; } catch { return true; } })()")
    assert refused, 'HTML was made from a string'
    page.complaints.clear()


# ---- Tests ------------------------------------------------------------------------------------------

def empty_pages(browser):
    """Every page says so when there is nothing."""
    page = browser.page(BASE)
    page.wait_text('Needs attention')
    page.wait_text('live')
    names = page.run("[...document.querySelectorAll('.menu a')].map((a) => a.dataset.page)")
    assert len(names) == 19, names
    for name in names:
        show(page, name)
        page.wait(f"document.querySelector('.menu a[data-page={name}]').getAttribute('aria-current') === 'page'")
        time.sleep(0.2)
        assert 'That did not work' not in page.text(), (name, page.text())
    is_clean(page)
    page.close()


def jobs_and_actions(browser):
    """A queue from its first job to its end, by hand."""
    page = browser.page(BASE + '/#/queues')
    page.wait_text('No queues yet')
    first = call('queue/push', name='mails', payload=['{"to": "ann", "n": [1, 2]}', 'second'], kind='welcome')['ids'][0]
    page.wait_text('mails')  # live, without a reload
    page.click('td a', 'mails')
    page.wait_text('there is no worker')
    page.wait_text('second')

    page.click('button', 'Pause')
    page.wait_text('the queue is paused')
    assert call('queue/stats', name='mails')['paused']
    page.click('button', 'Resume')
    eventually(lambda: not call('queue/stats', name='mails')['paused'], 'resumed')

    page.click('button', 'Push a job')
    page.fill('dialog textarea', 'third')
    page.fill('dialog [name=delay]', '1h')
    page.click('dialog button', 'Push')
    eventually(lambda: call('queue/stats', name='mails')['delayed'] == 1, 'pushed with a delay')
    show(page, 'queues/mails?state=delayed')
    page.click('td button', 'Run now')
    eventually(lambda: call('queue/stats', name='mails')['ready'] == 3, 'promoted')

    show(page, 'queues/mails?state=ready')
    page.click('td a', first)
    page.wait_text('"to": "ann",')  # laid out
    page.wait_text('Why it waits')
    page.click('button', 'Cancel job')
    page.wait_text('This takes the job')
    page.click('dialog button', 'Cancel')
    assert call('queue/stats', name='mails')['ready'] == 3
    page.click('button', 'Cancel job')
    page.click('dialog button', 'Cancel job')
    eventually(lambda: call('queue/stats', name='mails')['ready'] == 2, 'cancelled')
    page.wait_text('This job is done, or was deleted.')

    job = call('queue/claim', name='mails')
    show(page, 'queues/mails?state=active')
    page.click('td button', 'Take back')
    page.click('dialog button', 'Take back')
    eventually(lambda: call('queue/stats', name='mails')['active'] == 0, 'taken back')
    job = call('queue/claim', name='mails')
    call('queue/fail', name='mails', id=job['id'], token=job['token'], reason='no such <b>user</b>', dead=True)
    show(page, 'queues/mails?state=dead')
    page.wait_text('no such <b>user</b>')
    page.click('td button', 'Retry')
    eventually(lambda: call('queue/stats', name='mails')['dead'] == 0, 'retried')

    show(page, 'queues/mails?state=done')
    page.wait_text('A queue keeps them if its limits say for how long.')
    call('queue/limit', name='mails', keep='1h')
    call('queue/push', name='mails', payload=['kept <b>job</b>'], priority=-9, **{'result-for': '1h'})
    job = call('queue/claim', name='mails')
    call('queue/ack', name='mails', id=job['id'], token=job['token'], result='a <i>result</i>')
    show(page, 'queues/mails?state=done')
    page.wait_text('kept <b>job</b>')
    page.click('td a', job['id'])
    page.wait_text('a <i>result</i>')
    page.click('button', 'Delete')
    page.wait_text('This deletes what is kept of the done job')
    page.click('dialog button', 'Delete')
    eventually(lambda: call('queue/stats', name='mails')['kept_jobs'] == 0, 'deleted')

    call('queue/schedule', name='mails', id='nightly', payload='x', cron='0 3 * * *')
    show(page, 'queues/mails?span=week')
    page.wait_text('Jobs in half an hour')
    page.click('.tabs a', 'last minutes')
    page.wait_text('Jobs a second')
    show(page, 'queues/mails?state=schedules')
    page.click('td button', 'Pause')
    eventually(lambda: call('queue/schedules', name='mails')[0]['paused'], 'paused')
    page.click('td button', 'Resume')
    eventually(lambda: not call('queue/schedules', name='mails')[0]['paused'], 'resumed')
    before = call('queue/stats', name='mails')['ready']
    page.click('td button', 'Fire now')
    eventually(lambda: call('queue/stats', name='mails')['ready'] == before + 1, 'fired')
    page.click('td button', 'Unschedule')
    page.click('dialog button', 'Unschedule')
    page.wait_text('No schedules')
    show(page, 'queues/mails?state=times')
    page.wait_text('Waited')
    show(page, 'queues/mails?state=limits')
    page.click('button', 'Change')
    page.fill('dialog [name=rate]', '10/s')
    page.click('dialog button', 'Change')
    page.wait_text('10/1.0 s')

    page.click('button', 'Drop')
    page.wait_text('This deletes the queue mails')
    page.click('dialog button', 'Drop')
    page.wait("location.hash === '#/queues'")
    eventually(lambda: call('queue/list') == [], 'dropped')
    is_clean(page)
    page.close()


def found_jobs(browser):
    """Jobs are found by what is in them, and what is done with all of them asks with their number."""
    call('queue/push', name='mails', payload=[f'{{"to": "ann", "n": {n}}}' for n in range(150)])
    call('queue/push', name='mails', payload='{"to": "bob", "password": "s3cret", "auth_token": [1]}')
    call('queue/push', name='mails', payload='later', delay='1h', kind='slow')
    page = browser.page(BASE + '/#/queues/mails')
    page.wait_text('1 to 25')
    page.wait("[...document.querySelectorAll('.tabs .count')].length > 0")  # a sample without dead letters
    page.fill('input[type=search]', 'bob')
    page.wait("document.querySelectorAll('tbody tr').length === 1")
    page.wait_text('found: 1')
    assert 's3cret' not in page.text()
    page.click('td a')
    page.wait_text('"password": "•••"')
    page.wait_text('"auth_token": "•••"')
    page.click('button', 'Show what is covered')
    page.wait_text('s3cret')
    page.click('button', 'Edit')
    page.fill('dialog textarea', '{"to": "carol"}')
    page.click('dialog button', 'Save')
    page.wait_text('"to": "carol"')
    eventually(lambda: call('queue/find', name='mails', text='bob')['found'] == []
               and len(call('queue/find', name='mails', text='carol')['found']) == 1, 'edited')

    show(page, 'queues/mails?state=ready&q=ann')  # links keep the search
    page.wait_text('the first 100 that were found')
    page.click('button', 'Cancel all that match')
    page.wait_text('This is done with 150 jobs')
    page.click('dialog button', 'Cancel all that match')
    eventually(lambda: call('queue/stats', name='mails')['ready'] == 1, 'cancelled')
    show(page, 'queues/mails?state=delayed&q=slow')
    page.click('button', 'Run all that match now')
    page.click('dialog button', 'Run all that match now')
    eventually(lambda: call('queue/stats', name='mails')['ready'] == 2, 'promoted')
    for reason in ('time-out', 'time-out', 'other'):
        call('queue/push', name='mails', payload=reason, priority=-1)
        job = call('queue/claim', name='mails')
        call('queue/fail', name='mails', id=job['id'], token=job['token'], reason=reason, dead=True)
    show(page, 'queues/mails?state=dead&q=time-out')
    page.click('button', 'Retry all that match')
    page.wait_text('This is done with 2 jobs')
    page.click('dialog button', 'Retry all that match')
    eventually(lambda: call('queue/stats', name='mails')['dead'] == 1, 'retried')
    page.wait_text('No such jobs')
    show(page, 'overview')
    page.wait_text('dead letters: 1, and growing: 1 more')
    is_clean(page)
    call('queue/drop', name='mails', yes=True)
    page.close()


def flows(browser):
    """Jobs that wait for each other are drawn with links; many are drawn in part, the rest is counted."""
    ids = call('queue/push', name='build', payload=['cut', 'weld'], then=['paint'], kind='step')['ids']
    page = browser.page(BASE + '/#/queues/build/' + ids[2])
    page.wait("document.querySelectorAll('.flow-job').length === 3 && document.querySelectorAll('.flow-line').length === 2")
    assert page.run("document.querySelector('.flow-job[aria-current]').getAttribute('aria-label')") == f'{ids[2]}, held, step, waits for 2'
    job = call('queue/claim', name='build')
    call('queue/fail', name='build', id=job['id'], token=job['token'], reason='no', dead=True)
    page.wait("document.querySelectorAll('.flow-job.is-dead').length === 1")
    page.run("document.querySelector('.flow-job.is-dead').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))")
    page.wait(f"location.hash.endsWith({json.dumps(job['id'])})")
    page.wait("document.querySelector('.flow-job.is-dead[aria-current]') !== null")
    many = call('queue/push', name='build', payload=['x'] * 200, then=['end'])['ids']
    show(page, 'queues/build/' + many[-1])
    page.wait("document.querySelectorAll('.flow-job').length === 50")
    page.wait_text('Jobs of this flow that are not shown: 151')
    show(page, 'queues/build/' + call('queue/push', name='build', payload='alone')['ids'][0])
    page.wait_text('alone')
    assert page.run("document.querySelector('.flow') === null")
    is_clean(page)
    call('queue/drop', name='build', yes=True)
    page.close()


def large_payloads(browser):
    """Of large payloads only the beginning travels, in lists and on the page of a job."""
    large = '{"password": "s3cret", "to": ["ann"], "number": 12345678901234567890, "text": "' + 'x' * 500_000 + '"}'
    for _ in range(3):
        call('queue/push', name='large', payload=large)
    middle = call('queue/push', name='large', payload='{"list": [' + '1, ' * 8000 + '2]}')['ids'][0]
    page = browser.page(BASE + '/#/queues/large')
    page.wait("document.querySelectorAll('tbody tr').length === 4")
    page.fill('input[type=search]', 'ann')
    page.wait_text('found: 3')
    page.click('td a')
    page.wait_text('"number": 12345678901234567890,')  # laid out, although it is cut, and exact
    page.wait_text('488 KB')
    assert 's3cret' not in page.text()
    assert page.run("document.querySelector('pre').textContent.endsWith('x…')")
    assert page.run("[...document.querySelectorAll('button')].every((b) => b.textContent !== 'Edit')")
    most = page.run("Math.max(...performance.getEntriesByType('resource').map((one) => one.decodedBodySize))")
    assert most < 100_000, most
    show(page, 'queues/large/' + middle)
    page.wait_text('"list": [')
    page.click('button', 'Edit')
    page.wait("document.querySelector('dialog textarea').value.endsWith('1, 2]}')")  # all of it
    page.click('dialog button', 'Cancel')
    is_clean(page)
    call('queue/drop', name='large', yes=True)
    page.close()


def holders(browser):
    """A lock with a line is shown and broken."""
    call('lock/acquire', name='door', lease='1h', label='first')
    page = browser.page(BASE + '/#/locks')
    page.wait_text('first (')
    page.click('td a', 'door')
    page.wait_text('Line of waiters')
    page.click('button', 'Break')
    page.click('dialog button', 'Break')
    page.wait_text('Nothing is held')
    assert call('lock/list') == []
    is_clean(page)
    page.close()


def refuse(name, key):
    """Checks a limit that refuses."""
    try:
        call('limit/check', name=name, key=key, rate='1/h', quantity=2)
    except AssertionError as error:
        assert 'TKL_LIMITED' in str(error), error
        return
    raise AssertionError(f'{name} has not refused {key}')


def refusals(browser):
    """Limits that refuse are shown as they do, the one that refused most first, with whom; one request a time."""
    page = browser.page(BASE + '/#/limits')
    page.wait_text('No limit has refused anything in the last day.')
    hostile = '<img src=x onerror=alert(1)>'
    call('limit/check', name='signup', key='ann', rate='1/h')
    for key in ['ann'] * 3 + [hostile] * 2 + ['bob', 'carol']:
        refuse('signup', key)
    refuse('mails', 'ann')
    call('limit/check', name='idle', key='ann', rate='1/h', counted=True)
    first_cells = "[...document.querySelectorAll('tbody tr')].map((row) => [0, 3, 4].map((i) => row.cells[i].innerText))"
    page.wait(f'JSON.stringify({first_cells}.map((row) => row[0])) === \'["signup","mails"]\'')
    eventually(lambda: page.run(first_cells) == [['signup', '7', f'ann 3, {hostile} 2, bob 1'], ['mails', '1', 'ann 1']], 'counted')
    for _ in range(7):
        refuse('mails', 'ann')
    page.wait(f'JSON.stringify({first_cells}[0]) === \'["mails","8","ann 8"]\'')
    assert {url for url in page.requests if '/v1/' in url} == {BASE + '/v1/limit/refused'}, page.requests
    page.click('td a', 'signup')
    page.wait("document.querySelectorAll('tbody tr').length === 4")
    page.wait_text('In all')
    assert page.run("document.querySelector('tbody tr').innerText").split() == ['ann', '3']
    page.click('td a', hostile)
    page.wait_text('This key has used nothing lately.')
    show(page, 'limits/signup')
    page.click('td a', 'ann')
    page.wait_text('Remaining')
    show(page, 'limits/idle')
    page.wait_text('It has refused nobody in this and the last hour.')
    is_clean(page)
    page.close()


def other_pages(browser):
    """The pages of the other components, with data."""
    call('counter/add', name='hits', amount=7)
    call('stats/record', context='/cart', type='ms', value='12.5')
    call('log/write', name='app', severity='error', message='disk <i>full</i>')
    call('online/mark', name='site', user=['ann', 'bob'])
    call('session/create', user='ann')
    call('search/create', index='docs', field=['tag:text'])
    call('search/add', index='docs', id='d1', text='hello <b>brave</b> world', set=['tag=one'])
    call('chat/create', name='room', member=['ann', 'bob'])
    call('chat/send', name='room', sender='ann', body='good morning')
    call('mail/send', name='ann', body='hi')
    call('ads/add', set='site', ad='a1', text='cheap locks', type='cpc', price='0.2', location='de')
    call('config/set', kind='shop', component='cart', json={'a': 1})
    call('geo/add', name='cities', longitude=[13.4], latitude=[52.5], place=['berlin'])
    call('limit/check', name='api', key='k', rate='2/h')
    call('limit/check', name='api', key='w', rate='2/h', algorithm='window')
    page = browser.page(BASE)
    for path, text in [('counters', 'hits'), ('counters/hits?every=1h', '1h'), ('stats/ms', '/cart'),
                       ('stats/ms/%2Fcart', '12.5'), ('logs/app', 'disk <i>full</i>'),
                       ('logs/app?part=common', 'disk <i>full</i>'), ('online/site', 'Users by day'),
                       ('sessions/default?user=ann', 'End all sessions'),
                       ('search/docs?query=brave', 'hello <b>brave</b> world'),
                       ('chats/room', 'good morning'), ('mail/ann', 'Unread'), ('ads/site', 'a1'),
                       ('ads/site/a1', 'cheap'), ('config/shop/cart', 'version 1'),
                       ('places/cities?longitude=13&latitude=52&radius=100', 'berlin'),
                       ('limits/api/k', 'Remaining'), ('limits/api/w', 'Taken lately'), ('server', 'Append-only file')]:
        show(page, path)
        page.wait_text(text)
    assert page.run("document.querySelector('mark') === null")
    show(page, 'search/docs')
    page.fill('input[type=search]', 'wor')
    page.click('.suggestions button', 'world')
    page.wait("document.querySelector('mark')?.textContent === 'world'")
    page.click('li button', 'Why')
    page.wait_text('average length')
    page.click('.facet button', 'one')
    page.wait("document.querySelector('input[type=search]').value === 'world tag:\"one\"'")
    page.wait("document.querySelector('mark')?.textContent === 'world'")

    show(page, 'limits')
    page.click('button', 'List the limits in use')
    page.click('td a', 'api')
    page.click('button', 'List the keys in use')
    page.click('td a', 'k')
    page.wait_text('Remaining')

    show(page, 'config/shop/cart')
    page.click('button', 'Edit')
    page.fill('dialog textarea', '{"a": 2}')
    page.click('dialog button', 'Save')
    page.wait_text('version 2')
    assert call('config/get', kind='shop', component='cart')['value'] == {'a': 2}
    show(page, 'config')
    page.click('button', 'Switch on')
    page.fill('dialog input', 'new disks')
    page.click('dialog button', 'Switch on')
    page.wait_text('new disks')
    page.click('button', 'Switch off')
    page.wait_text('No maintenance')
    show(page, 'limits/api/k')
    page.click('button', 'Reset')
    page.click('dialog button', 'Reset')
    page.wait_text('nothing lately')
    is_clean(page)
    page.close()


def hostile_data(browser):
    """Whatever names and payloads are, they are shown and nothing else."""
    for name in HOSTILE:
        call('queue/push', name=name, payload=name, group=name[:100], meta=name)
        call('lock/acquire', name=name, lease='1h', label=name[:200])
        call('counter/add', name=name)
        call('log/write', name=name, severity='error', message=name)
        call('config/set', kind='k', component=name, json={'v': name})
    call('queue/push', name='large', payload='<script>alert(1)</script>' * 30000)
    page = browser.page(BASE + '/#/queues')
    page.wait_text('onerror=alert(1)')
    page.wait_text('\\u202egnp.exe')
    refuses_html(page)
    for path in ('overview', 'queues', 'locks', 'counters', 'logs', 'config'):
        show(page, path)
        page.wait_text('<img src=x' if path != 'overview' else 'no worker')
        links = page.run("[...document.querySelectorAll('main a')].map((a) => a.getAttribute('href'))")
        assert links and all(link.startswith('#/') for link in links), links
        for i in range(len(links) if path in ('queues', 'locks') else 0):
            page.run(f'location.hash = {json.dumps(links[i])}')
            page.wait("document.querySelector('main h1') !== null")
            time.sleep(0.15)
            assert 'That did not work' not in page.text(), (links[i], page.text())
    for name in HOSTILE:  # the way from a link back to the name is exact
        show(page, 'queues')
        page.wait("document.querySelectorAll('tbody tr').length > 10")
        show(page, page.run('(() => { const f = document.createElement("a"); return '
                            f'"queues/" + encodeURIComponent({json.dumps("~" + name if name.startswith("~") else name)}); }})()'))
        page.click('td a')
        page.wait_text('Payload')
    show(page, 'queues/large')
    page.click('td a')
    page.wait("document.querySelector('pre').textContent.length > 4000")
    assert page.run("document.querySelector('pre').textContent.length") < 5000
    is_clean(page)
    for name in [*HOSTILE, 'large']:
        call('queue/drop', name=name, yes=True)
    page.close()


def languages(browser):
    """English and Chinese, chosen by the browser and a switch; the choice stays."""
    page = browser.page(BASE)
    page.wait_text('Overview')
    page.click('header button', '中文')
    page.wait_text('总览')
    assert page.run('document.documentElement.lang') == 'zh'
    for name in page.run("[...document.querySelectorAll('.menu a')].map((a) => a.dataset.page)"):
        show(page, name)
    page.open(BASE)
    page.wait_text('总览')
    page.click('header button', 'English')
    page.wait_text('Overview')
    is_clean(page)
    page.close()
    with Browser('zh-CN') as other:
        page = other.page(BASE)
        page.wait_text('总览')


def keyboard(browser):
    """Pages by keys, the filter by /, help by ?; the address keeps the filter."""
    call('queue/push', name='mails', payload='x')
    page = browser.page(BASE)
    page.wait_text('Needs attention')
    page.press('g')
    page.press('q')
    page.wait("location.hash === '#/queues'")
    page.wait("document.querySelector('main input[type=search]') !== null")
    page.press('/')
    page.wait("document.activeElement.type === 'search'")
    page.fill('input[type=search]', 'nothing like it')
    page.wait_text('Nothing matches')
    page.wait("location.hash === '#/queues?q=nothing+like+it'")
    page.run('document.activeElement.blur()')
    page.press('?')
    page.wait("document.querySelector('dialog[open]') !== null")
    page.click('dialog button', 'Close')
    page.wait("document.querySelector('dialog') === null")
    is_clean(page)
    call('queue/drop', name='mails', yes=True)
    page.close()


def labels(browser):
    """What can be used has a name for screen readers, and the page has landmarks."""
    page = browser.page(BASE)
    for path in ('overview', 'queues', 'locks', 'counters', 'config', 'search/docs', 'limits', 'logs/app'):
        show(page, path)
        time.sleep(0.3)
        nameless = page.run('''[...document.querySelectorAll('button, a, input, select, textarea')].filter((e) =>
            !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length > 0)))
            .map((e) => e.outerHTML)''')
        assert nameless == [], (path, nameless)
        assert page.run("['header', 'nav', 'main', 'main h1'].every((s) => document.querySelector(s))"), path
    is_clean(page)
    page.close()


def narrow(browser):
    """A phone: nothing is wider than the screen, and the menu opens."""
    page = browser.page(BASE, width=360, height=740)
    call('queue/push', name='mails', payload='x' * 500, kind='y' * 60)
    for path in ('overview', 'queues', 'queues/mails', 'locks', 'counters', 'logs/app', 'config', 'search/docs?query=world'):
        show(page, path)
        time.sleep(0.3)
        assert page.run('document.documentElement.scrollWidth') <= 360, path
    assert page.run("getComputedStyle(document.querySelector('.menu')).display") == 'none'
    page.click('.burger')
    page.click('.menu a', 'Queues')
    page.wait("location.hash === '#/queues'")
    is_clean(page)
    call('queue/drop', name='mails', yes=True)
    page.close()


def colours(browser):
    """Dark by the system, and either by choice; texts have the contrast that WCAG AA wants."""
    contrast = '''(() => {
        const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((v) => {
            v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
            if (!c.endsWith(', 0)')) return c; } return 'rgb(255, 255, 255)'; };
        return [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() &&
            [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && !(e instanceof SVGElement)).map((e) => {
            const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), e.textContent]; }).filter(([ratio]) => ratio < 4.5); })()'''
    call('queue/push', name='mails', payload='x')
    for dark in (False, True):
        page = browser.page(BASE, dark=dark)
        page.wait_text('no worker')
        for path in ('overview', 'queues/mails', 'logs/app', 'config'):
            show(page, path)
            time.sleep(0.3)
            weak = page.run(contrast)
            assert weak == [], (dark, path, weak)
        page.close()
    page = browser.page(BASE)
    page.wait_text('Overview')
    page.click('header button', '◐')
    assert page.run('getComputedStyle(document.documentElement).colorScheme') == 'dark'
    page.click('header button', '◐')
    assert page.run('getComputedStyle(document.documentElement).colorScheme') == 'light'
    call('queue/drop', name='mails', yes=True)
    page.close()


def one_stream(browser):
    """Tabs share one stream, and hidden ones read none."""
    first, second = browser.page(BASE), browser.page(BASE)
    first.wait_text('live')
    second.wait_text('live')

    def streams():
        return sum(url.endswith('/events') for page in (first, second) for url in page.requests)
    assert streams() == 1, (first.requests, second.requests)
    first.close()
    second.wait("performance.now() > 0 && document.body.innerText.includes('live')")
    eventually(lambda: (second.run('1'), streams())[1] == 1 and any(u.endswith('/events') for u in second.requests),
               'the other tab reads on')
    is_clean(second)
    second.close()


def login(browser):
    """With tokens: a wrong one, one that reads, and what it does not offer. The session is that of the
    browser, not of a page, and no script can read its cookie."""
    page = browser.page(BASE)
    page.fill('#token', 'wrong-0123456789abcdef')
    page.click('button', 'Log in')
    page.wait_text('This token is not valid')
    page.fill('#token', 'report-0123456789abcdef')
    page.click('button', 'Log in')
    page.wait_text('read only')
    page.wait_text('report')
    show(page, 'queues/mails')
    page.wait_text('x')
    assert page.run("[...document.querySelectorAll('main button')].filter((b) => b.dataset.act).length") == 0
    assert page.run("document.cookie + sessionStorage.length + Object.keys(localStorage).join()") == '0'
    other = browser.page(BASE + '/#/queues/mails')
    other.wait_text('report')
    other.wait_text('live')
    page.click('button', 'Log out')
    page.wait_text('Token')
    other.wait_text('Your session has ended')
    other.close()
    page.fill('#token', 'narrow-0123456789abcdef')
    page.click('button', 'Log in')
    page.wait("document.querySelectorAll('.menu a').length === 2")
    page.wait_text('mails')  # without the right to the stream
    page.wait_text('live')
    page.open(BASE + '/#/locks')
    page.wait_text('Not permitted')
    page.close()


def trouble(browser):
    """A server that is gone or hangs, and comes back: the page says so, and goes on by itself."""
    page = browser.page(BASE)
    page.wait_text('live')
    for end, beginning in (('stop', 'start'), ('hang', 'wake')):
        print(end, flush=True)
        sys.stdin.readline()
        page.wait_text('The server does not answer')
        page.wait_text('old')
        print(beginning, flush=True)
        sys.stdin.readline()
        page.wait("!document.body.innerText.includes('does not answer') && document.body.innerText.includes('live')")
    page.close()


def missing_master(browser):
    """A master of a cluster that hangs is named above every page, until it answers."""
    hung = os.environ['HUNG']
    page = browser.page(BASE + '/#/queues')
    page.wait("document.querySelectorAll('tbody tr').length === 8")
    page.wait_text('live')
    assert page.run("document.querySelector('.trouble') === null")
    print('hang', flush=True)
    sys.stdin.readline()
    page.wait(f"/no answer from {hung}: what (it has|is stored there) is missing/i.test(document.querySelector('.trouble')?.innerText)")
    print('wake', flush=True)
    sys.stdin.readline()
    page.wait("document.querySelector('.trouble') === null && document.querySelectorAll('tbody tr').length === 8")
    is_clean(page)
    page.close()


if __name__ == '__main__':
    with Browser() as chromium:
        for test in sys.argv[3:]:
            print(test, file=sys.stderr)
            globals()[test](chromium)
