// The overview: what needs attention, then numbers and plots of everything.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { bytes, count, duration, nameNode, nameToPath, percent, rate } from '../format.js';
import { card, empty } from '../widgets.js';
import { allPoints, queuePoints } from '../history.js';
import { BINARY, WHOLE, plot } from '../plot.js';

const OLD_MS = 60000, LONG_MS = 3600000, FULL = 0.9;

const list = (part) => (Array.isArray(part) ? part : []);

// Things that an operator should look at, worst first: {level, text, name, href}.
function troubles(sample) {
  const found = [];
  const add = (level, text, name = null, href = null) => found.push({ level, text, name, href });
  const { server } = sample;
  if (server.error) add(2, server.message);
  if (server.memory_max && server.memory > FULL * server.memory_max)
    add(2, t('memory full', percent(server.memory / server.memory_max)), null, '#/server');
  if ((server.last_save && server.last_save !== 'ok') || (server.last_aof && server.last_aof !== 'ok')) add(2, t('save failed'), null, '#/server');
  if (server.policy && server.policy !== 'noeviction') add(1, t('evicts', server.policy), null, '#/server');
  for (const q of list(sample.queues)) {
    const href = '#/queues/' + nameToPath(q.name);
    const grown = q.dead - (queuePoints(q.name)[0]?.dead ?? q.dead); // while this page is open, or in the last minutes
    if (q.dead > 0) add(2, grown > 0 ? t('dead grow', count(q.dead), count(grown)) : t('has dead', count(q.dead)), q.name, href + '?state=dead');
    if (q.ready > 0 && q.active === 0 && q.waiters === 0 && q.state !== 'paused')
      add(2, t('no workers', count(q.ready)), q.name, href);
    else if (q.oldest_ms > OLD_MS) add(1, t('oldest waits', duration(q.oldest_ms)), q.name, href);
    if (q.state === 'paused') add(1, t('is paused', count(q.ready)), q.name, href);
  }
  for (const lock of list(sample.locks)) {
    const href = '#/locks/lock/' + nameToPath(lock.name);
    if (lock.since_ms > LONG_MS) add(1, t('held long', duration(lock.since_ms)), lock.name, href);
    else if (lock.waiters >= 10) add(1, t('many wait', count(lock.waiters)), lock.name, href);
  }
  for (const part of ['queues', 'locks', 'semaphores', 'leaders', 'counters'])
    if (sample[part]?.error) add(2, t('cannot read', t(part), sample[part].message));
  return found.sort((a, b) => b.level - a.level);
}

function tile(text, value, more, href) {
  return h('a', { class: 'tile', href }, h('span', { class: 'value' }, value), h('span', { class: 'what' }, text),
    more ? h('span', { class: 'quiet' }, more) : null);
}

function tiles(sample) {
  const queues = list(sample.queues), sum = (key) => queues.reduce((all, q) => all + (q[key] ?? 0), 0);
  const { server } = sample;
  return [
    tile(t('ready jobs'), count(sum('ready')), t('in queues', count(queues.length)), '#/queues'),
    tile(t('active jobs'), count(sum('active')), t('idle workers', count(sum('waiters'))), '#/workers'),
    tile(t('dead letters'), count(sum('dead')), t('failing', rate(sum('failed_per_second'))), '#/queues'),
    tile(t('held locks'), count(list(sample.locks).length), t('semaphores n', count(list(sample.semaphores).length)), '#/locks'),
    tile(t('memory'), bytes(server.memory), server.memory_max ? t('of', bytes(server.memory_max)) : null, '#/server'),
    tile(t('commands/s'), rate(server.commands_per_second), t('clients n', count(server.clients)), '#/server'),
  ];
}

export default {
  name: 'overview',
  needs: 'status',
  key: 'o',
  async show(view) {
    const attention = h('div'), numbers = h('div', { class: 'tiles' });
    const jobs = plot({
      title: t('jobs a second'), format: rate,
      lines: [{ key: 'pushed', name: t('pushed') }, { key: 'done', name: t('done jobs') }, { key: 'failed', name: t('failed jobs') }],
    });
    const backlog = plot({
      title: t('jobs'), format: count, steps: WHOLE,
      lines: [{ key: 'ready', name: t('ready') }, { key: 'active', name: t('active') }, { key: 'dead', name: t('dead') }],
    });
    const commands = plot({ title: t('commands'), format: rate, lines: [{ key: 'commands', name: t('a second') }] });
    const memory = plot({ title: t('memory'), format: bytes, steps: BINARY, lines: [{ key: 'memory', name: t('used') }] });
    view.show(view.title(t('overview')), numbers, card(t('attention'), attention),
      h('div', { class: 'plots' }, [jobs, backlog, commands, memory].map((p) => p.element)));
    let said = null;
    view.onSample((sample) => {
      put(numbers, tiles(sample));
      const found = troubles(sample), now = JSON.stringify(found);
      if (now !== said) {
        said = now;
        put(attention, found.length === 0 ? empty(t('all well')) : h('ul', { class: 'troubles' }, found.map((one) =>
          h('li', { class: 'level' + one.level }, one.href
            ? h('a', { href: one.href }, one.name !== null ? [nameNode(one.name), ': '] : null, one.text)
            : one.text))));
      }
      for (const p of [jobs, backlog, commands, memory]) p.update(allPoints());
    });
  },
};
