// A queue: numbers and plots, jobs by state, schedules, workers, times, limits.
import { h, put } from '../dom.js';
import { label, language, t } from '../words.js';
import { call, callOrNull, may, weekOf } from '../api.js';
import { count, duration, nameNode, nameToPath, rate, textOf, timeNode } from '../format.js';
import { act, button, empty, facts, question, tabs } from '../widgets.js';
import { queuePoints } from '../history.js';
import { WHOLE, plot } from '../plot.js';
import { crumbs } from './names.js';
import { STATES, showJobs, stateText } from './jobs.js';
import { fieldsOf, pushJob, rowOf } from './push.js';
import { workerTable } from './workers.js';
import { latest } from '../view.js';

// ---- Acts on a queue ------------------------------------------------------------------------------

function queueActions(view, name, row) {
  const fields = fieldsOf(name), shown = textOf(name), then = () => view.refresh();
  const paused = row?.state === 'paused', dead = count(row?.dead ?? 0);
  return [
    button(t('push job'), 'queue/push', () => pushJob(name, { then })),
    button(t(paused ? 'resume' : 'pause'), paused ? 'queue/resume' : 'queue/pause', () => act(paused ? 'queue/resume' : 'queue/pause', fields, { then })),
    row?.dead > 0 ? button(t('retry all dead'), 'queue/retry', () => act('queue/retry', { ...fields, all: true }, {
      asks: { title: t('retry all dead'), text: t('ask retry all', dead, shown), yes: t('retry'), danger: false }, then,
    })) : null,
    row?.dead > 0 ? button(t('delete all dead'), 'queue/dead', () => act('queue/dead', { ...fields, 'delete-all': true, yes: true }, {
      asks: { title: t('delete all dead'), text: t('ask delete dead', dead, shown), yes: t('delete') }, then,
    }), { danger: true }) : null,
    button(t('drain'), 'queue/drain', () => act('queue/drain', { ...fields, yes: true }, {
      asks: { title: t('drain'), text: t('ask drain', count((row?.ready ?? 0) + (row?.delayed ?? 0) + (row?.held ?? 0)), shown), yes: t('drain') }, then,
    }), { danger: true }),
    button(t('drop'), 'queue/drop', () => act('queue/drop', { ...fields, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop queue', shown), yes: t('drop') }, then: () => { location.hash = '#/queues'; },
    }), { danger: true }),
  ];
}

// ---- The other parts ------------------------------------------------------------------------------

async function showSchedules(view, root, name) {
  await view.every(5000, async () => {
    const rows = await call('queue/schedules', fieldsOf(name), view.signal);
    put(root, rows.length === 0 ? empty(t('no schedules')) : view.rows(t('schedules'), rows,
      ['id', 'cron', 'zone', 'every_ms', 'next_at', 'last_at', 'kind', 'payload'], {
        actions: (row) => [
          button(t('fire'), 'queue/fire', () => act('queue/fire', { ...fieldsOf(name), id: row.id }, { then: () => view.refresh() })),
          button(t(row.paused ? 'resume' : 'pause'), row.paused ? 'queue/resume' : 'queue/pause', () =>
            act(row.paused ? 'queue/resume' : 'queue/pause', { ...fieldsOf(name), schedule: row.id }, { then: () => view.refresh() })),
          button(t('unschedule'), 'queue/unschedule', () => act('queue/unschedule', { ...fieldsOf(name), id: row.id }, {
            asks: { title: t('unschedule'), text: t('ask unschedule', textOf(row.id)), yes: t('unschedule') }, then: () => view.refresh(),
          }), { danger: true }),
        ],
      }));
  });
}

async function showWorkers(view, root, name) {
  const workers = workerTable();
  put(root, workers.element);
  await view.every(5000, async () => workers.update(await call('queue/workers', fieldsOf(name), view.signal)));
}

// How many jobs took how long, as bars.
function histogram(title, times) {
  const most = Math.max(...times.buckets.map((bucket) => bucket.count), 1);
  const first = times.buckets.findIndex((bucket) => bucket.count > 0);
  const last = times.buckets.findLastIndex((bucket) => bucket.count > 0);
  return h('div', { class: 'histogram' }, h('h3', {}, title, ' ', h('span', { class: 'quiet' },
    times.count > 0 ? t('mean of', duration(times.sum_ms / times.count), count(times.count)) : '–')),
  times.buckets.slice(Math.max(first, 0), last + 1).map((bucket) => h('div', { class: 'bucket' },
    h('span', {}, bucket.up_to_ms === null ? t('longer') : '≤ ' + duration(bucket.up_to_ms)),
    h('progress', { max: most, value: String(bucket.count) }), h('span', { class: 'number' }, count(bucket.count)))));
}

async function showTimes(view, root, name) {
  await view.every(5000, async () => {
    const kinds = await call('queue/times', fieldsOf(name), view.signal);
    put(root, kinds.length === 0 ? empty(t('no times')) : kinds.map((kind) => h('section', { class: 'times' },
      h('h3', {}, kind.kind === null ? t('no kind') : nameNode(kind.kind), ' ', h('span', { class: 'quiet' }, t('done and failed', count(kind.done), count(kind.failed)))),
      histogram(t('waited'), kind.wait), histogram(t('ran'), kind.run))));
  });
}

async function showLimits(view, root, name) {
  const options = { max_jobs: 'max-jobs', max_bytes: 'max-bytes', concurrency: 'concurrency', rate: 'rate', group_concurrency: 'group-concurrency', group_rate: 'group-rate', dead_max: 'dead-max', dead_ms: 'dead-for', keep_ms: 'keep', keep_max: 'keep-max', keep_bytes: 'keep-bytes' };
  const rateText = (n, ms) => (n === null ? null : `${n}/${duration(ms)}`);
  await view.every(10000, async () => {
    const limits = await callOrNull('queue/limit', fieldsOf(name), view.signal) ?? {};
    limits.rate = rateText(limits.rate, limits.rate_period_ms);
    limits.group_rate = rateText(limits.group_rate, limits.group_rate_period_ms);
    put(root, facts(limits, Object.keys(options)), h('p', {}, button(t('change'), 'queue/limit', async () => {
      const values = await question({
        title: t('limits of queue'), text: t('limits help'), yes: t('change'),
        fields: Object.entries(options).map(([key, option]) => ({ name: option, label: label(key), hint: key.includes('rate') ? '10/s' : '' })),
      });
      const given = Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== ''));
      if (Object.keys(given).length > 0) await act('queue/limit', { ...fieldsOf(name), ...given }, { then: () => view.refresh() });
    })));
  });
}

// Why the next job does not run.
async function showWhy(view, root, name) {
  await view.every(5000, async () => {
    const why = await callOrNull('queue/why', fieldsOf(name), view.signal);
    put(root, why === null || why.causes.length === 0 ? null : h('p', { class: 'quiet' }, t('next waits'), ' ',
      why.causes.map((cause, i) => [i > 0 ? '; ' : null, causeText(cause)])));
  });
}

// A cause as `queue why` gives it, in words.
export function causeText(cause) {
  const used = cause.cause.endsWith('rate') ? duration(cause.used) : count(cause.used);
  const numbers = cause.limit ? (cause.cause.endsWith('rate') ? ` (${cause.limit}/${used})` : ` (${used}/${count(cause.limit)})`) : cause.used ? ` (${used})` : '';
  return [t('cause ' + cause.cause), numbers, cause.time ? [' ', timeNode(cause.time)] : null,
    cause.text ? [': ', nameNode(cause.text)] : null, cause.id ? ' ' + cause.id : null];
}

const parts = { schedules: showSchedules, workers: showWorkers, times: showTimes, limits: showLimits };

// ---- Plots ----------------------------------------------------------------------------------------

const speedLines = () => [{ key: 'pushed', name: t('pushed') }, { key: 'done', name: t('done jobs') }, { key: 'failed', name: t('failed jobs') }];

// The last minutes: drawn with each sample.
function livePlots(view, root, name) {
  const speed = plot({ title: t('jobs a second'), format: rate, lines: speedLines() });
  const waiting = plot({ title: t('jobs'), format: count, steps: WHOLE, lines: [{ key: 'ready', name: t('ready') }, { key: 'active', name: t('active') }] });
  put(root, speed.element, waiting.element);
  const draw = () => {
    speed.update(queuePoints(name));
    waiting.update(queuePoints(name));
  };
  draw();
  view.onSample(draw);
}

// The last seven days, in half hours.
async function weekPlots(view, root, name) {
  const clock = (ms) => new Date(ms).toLocaleString(language(), { dateStyle: 'short', timeStyle: 'short' });
  const work = plot({ title: t('jobs in half an hour'), format: count, steps: WHOLE, clock, lines: speedLines() });
  const times = plot({ title: t('mean times'), format: duration, clock, lines: [{ key: 'wait_ms', name: t('waited') }, { key: 'run_ms', name: t('ran') }] });
  put(root, work.element, times.element);
  await view.every(60000, async () => {
    const points = typeof name === 'string' ? await weekOf(name, view.signal) : [];
    work.update(points);
    times.update(points);
  });
}

export async function showQueue(view, name) {
  const chosen = view.params.get('state') ?? 'ready', isWeek = view.params.get('span') === 'week', here = '#/queues/' + nameToPath(name);
  const href = (state, span) => here + '?' + new URLSearchParams({ state, ...(span ? { span } : {}) });
  const choice = h('div'), acts = h('p', { class: 'buttons' }), numbers = h('p', { class: 'numbers' }), root = h('div'), why = h('div'), plots = h('div', { class: 'plots' });
  const spans = tabs([{ key: 'live', text: t('last minutes'), href: href(chosen) }, { key: 'week', text: t('seven days'), href: href(chosen, 'week') }], isWeek ? 'week' : 'live');
  view.show(crumbs(view, 'queues', name), acts, numbers, why, spans, plots, h('section', { class: 'card' }, choice, root));
  const week = isWeek ? weekPlots(view, plots, name) : livePlots(view, plots, name);
  let said = null;
  const draw = (row) => {
    const now = JSON.stringify([row?.state, row && STATES.map((state) => row[state]), row?.oldest_ms && Math.round(row.oldest_ms / 1000)]);
    if (now === said) return;
    said = now;
    const names = [...STATES, 'schedules', 'workers', 'times', ...(may('queue/limit') ? ['limits'] : [])];
    put(choice, tabs(names.map((key) => ({ key, text: stateText(key), href: href(key, isWeek ? 'week' : null), count: row?.[key] })), chosen));
    put(acts, queueActions(view, name, row));
    put(numbers, row?.state === 'paused' ? h('span', { class: 'badge' }, t('paused')) : null, ' ',
      row?.oldest_ms ? t('oldest waits', duration(row.oldest_ms)) : null);
  };
  draw(rowOf(latest(), name));
  view.onSample((sample) => draw(rowOf(sample, name)));
  await Promise.all([week, showWhy(view, why, name),
    STATES.includes(chosen) || !parts[chosen] ? showJobs(view, root, name, STATES.includes(chosen) ? chosen : 'ready') : parts[chosen](view, root, name)]);
}
