// A queue: numbers and plots, jobs by state, schedules, workers, times, limits.
import { h, put } from '../dom.js';
import { label, t } from '../words.js';
import { call, callOrNull, may } from '../api.js';
import { count, cut, duration, nameNode, nameToPath, rate, textOf, timeNode, visible } from '../format.js';
import { act, ask, button, empty, facts, question, table, tabs } from '../widgets.js';
import { queuePoints } from '../history.js';
import { plot } from '../plot.js';
import { crumbs } from './names.js';
import { workerTable } from './workers.js';
import { latest } from '../view.js';

const JOBS = 25;
const STATES = ['ready', 'active', 'delayed', 'held', 'dead'];
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function rowOf(sample, name) {
  return Array.isArray(sample?.queues) ? sample.queues.find((row) => same(row.name, name)) : undefined;
}

// The fields that name a queue in a call.
export function fieldsOf(name) {
  return { name, partitions: rowOf(latest(), name)?.partitions };
}

// ---- What can be done with a queue ----------------------------------------------------------------

function queueActions(view, name, row) {
  const fields = fieldsOf(name), shown = textOf(name), then = () => view.refresh();
  const paused = row?.state === 'paused', dead = count(row?.dead ?? 0);
  return [
    button(t('push job'), 'queue/push', () => pushJob(name, '', then)),
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

// Asks for a job and pushes it; `payload` is what stands there at first.
export async function pushJob(name, payload, then) {
  const values = await question({
    title: t('push job'), yes: t('push'), fields: [
      { name: 'payload', label: t('payload'), rows: 8, value: payload },
      { name: 'kind', label: label('kind') }, { name: 'delay', label: t('delay'), hint: '5m' },
      { name: 'priority', label: label('priority'), hint: '0' },
    ],
  });
  if (values === null) return;
  const fields = { ...fieldsOf(name), payload: values.payload };
  for (const key of ['kind', 'delay', 'priority']) if (values[key]) fields[key] = values[key];
  await act('queue/push', fields, { done: (answer) => t('pushed as', answer.ids.join(', ')), then });
}

// ---- Jobs -----------------------------------------------------------------------------------------

export function jobActions(name, job, then) {
  const fields = { ...fieldsOf(name), id: job.id };
  return [
    job.state === 'delayed' ? button(t('promote'), 'queue/promote', () => act('queue/promote', fields, { then })) : null,
    job.state === 'dead' ? button(t('retry'), 'queue/retry', () => act('queue/retry', fields, { then })) : null,
    job.state === 'active' ? button(t('requeue'), 'queue/requeue', () => act('queue/requeue', { ...fields, force: true }, {
      asks: { title: t('requeue'), text: t('ask requeue', job.id), yes: t('requeue') }, then,
    })) : null,
    job.state === 'dead'
      ? button(t('delete'), 'queue/dead', () => act('queue/dead', { ...fields, delete: true }, {
        asks: { title: t('delete'), text: t('ask delete job', job.id), yes: t('delete') }, then,
      }), { danger: true })
      : button(t('cancel job'), 'queue/cancel', () => act('queue/cancel', fields, {
        asks: { title: t('cancel job'), text: t('ask cancel job', job.id), yes: t('cancel job') }, then,
      }), { danger: true }),
  ];
}

const when = { ready: 'pushed_at', active: 'since', delayed: 'due_at', held: 'pushed_at', dead: 'since' };

async function showJobs(view, root, name, state) {
  const skip = Number(view.params.get('skip') ?? 0);
  const jobs = table({
    title: t(state), id: (job) => job.id, none: t('no jobs'),
    columns: [
      { key: 'id', cell: (job) => h('a', { href: `#/queues/${nameToPath(name)}/${job.id}` }, job.id) },
      { key: 'kind', searched: true, cell: (job) => (job.kind === null ? '' : nameNode(job.kind)) },
      { key: 'payload', searched: true, cell: (job) => h('code', {}, visible(cut(textOf(job.payload), 100))) },
      { key: 'attempt', number: true }, { key: 'priority', number: true },
      { key: when[state], cell: (job) => timeNode(job[when[state]] ?? job.pushed_at) },
      state === 'active' ? { key: 'worker', cell: (job) => (job.worker ? `${visible(textOf(job.worker.host))}:${job.worker.pid}` : '–') }
        : { key: 'error', searched: true, cell: (job) => (job.error === null ? '' : nameNode(job.error)) },
    ],
    actions: (job, current) => jobActions(name, current(), () => view.refresh()),
  });
  const page = (to, text) => h('a', { href: `#/queues/${nameToPath(name)}?state=${state}&skip=${to}` }, text);
  const pager = h('p', { class: 'pager' });
  const find = ask({ fields: [{ name: 'id', label: t('job id') }], text: t('look up'), then: ({ id }) => { location.hash = `#/queues/${nameToPath(name)}/${encodeURIComponent(id.trim())}`; } });
  put(root, h('div', { class: 'row' }, view.filterBox(jobs), find), jobs.element, pager);
  await view.every(3000, async () => {
    const rows = await call('queue/peek', { ...fieldsOf(name), state, max: JOBS, skip }, view.signal);
    jobs.update(rows);
    put(pager, skip > 0 ? page(Math.max(0, skip - JOBS), t('earlier')) : null, ' ',
      rows.length > 0 ? t('rows', count(skip + 1), count(skip + rows.length)) : null, ' ',
      rows.length === JOBS ? page(skip + JOBS, t('later')) : null);
  });
}

// ---- The other parts ------------------------------------------------------------------------------

async function showSchedules(view, root, name) {
  await view.every(5000, async () => {
    const rows = await call('queue/schedules', fieldsOf(name), view.signal);
    put(root, rows.length === 0 ? empty(t('no schedules')) : view.rows(t('schedules'), rows,
      ['id', 'cron', 'zone', 'every_ms', 'next_at', 'last_at', 'kind', 'payload'], {
        actions: (row) => [button(t('unschedule'), 'queue/unschedule', () => act('queue/unschedule', { ...fieldsOf(name), id: row.id }, {
          asks: { title: t('unschedule'), text: t('ask unschedule', textOf(row.id)), yes: t('unschedule') }, then: () => view.refresh(),
        }), { danger: true })],
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
  const options = { max_jobs: 'max-jobs', max_bytes: 'max-bytes', concurrency: 'concurrency', rate: 'rate', group_concurrency: 'group-concurrency', group_rate: 'group-rate', dead_max: 'dead-max', dead_ms: 'dead-for' };
  const rateText = (n, ms) => (n === null ? null : `${n}/${duration(ms)}`);
  await view.every(10000, async () => {
    const limits = await call('queue/limit', fieldsOf(name), view.signal);
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
    cause.text ? [' ', nameNode(cause.text)] : null, cause.id ? ' ' + cause.id : null];
}

const parts = { schedules: showSchedules, workers: showWorkers, times: showTimes, limits: showLimits };

export async function showQueue(view, name) {
  const chosen = view.params.get('state') ?? 'ready', base = '#/queues/' + nameToPath(name) + '?state=';
  const choice = h('div'), acts = h('p', { class: 'buttons' }), numbers = h('p', { class: 'numbers' }), root = h('div'), why = h('div');
  const speed = plot({ title: t('jobs a second'), format: rate, lines: [{ key: 'pushed', name: t('pushed') }, { key: 'done', name: t('done jobs') }, { key: 'failed', name: t('failed jobs') }] });
  const waiting = plot({ title: t('jobs'), format: count, lines: [{ key: 'ready', name: t('ready') }, { key: 'active', name: t('active') }] });
  view.show(crumbs(view, 'queues', name), acts, numbers, why, h('div', { class: 'plots' }, speed.element, waiting.element),
    h('section', { class: 'card' }, choice, root));
  let said = null;
  const draw = (row) => {
    speed.update(queuePoints(name));
    waiting.update(queuePoints(name));
    const now = JSON.stringify([row?.state, row && STATES.map((state) => row[state]), row?.oldest_ms && Math.round(row.oldest_ms / 1000)]);
    if (now === said) return;
    said = now;
    const names = [...STATES, 'schedules', 'workers', 'times', ...(may('queue/limit') ? ['limits'] : [])];
    put(choice, tabs(names.map((key) => ({ key, text: t(key), href: base + key, count: row?.[key] })), chosen));
    put(acts, queueActions(view, name, row));
    put(numbers, row?.state === 'paused' ? h('span', { class: 'badge' }, t('paused')) : null, ' ',
      row?.oldest_ms ? t('oldest waits', duration(row.oldest_ms)) : null);
  };
  draw(rowOf(latest(), name));
  view.onSample((sample) => draw(rowOf(sample, name)));
  await Promise.all([showWhy(view, why, name),
    STATES.includes(chosen) || !parts[chosen] ? showJobs(view, root, name, STATES.includes(chosen) ? chosen : 'ready') : parts[chosen](view, root, name)]);
}
