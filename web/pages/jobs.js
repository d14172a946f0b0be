// The jobs of a queue in one state, page by page, or the jobs that contain a text; and acts on one of
// them, or on all that were found.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { count, cut, masked, nameNode, nameToPath, textOf, timeNode, visible } from '../format.js';
import { act, ask, button, question, notice, table } from '../widgets.js';
import { fieldsOf } from './push.js';

const JOBS = 25, FOUND = 100, PAUSE_MS = 300;
const WITHIN = '50ms'; // how long the server searches for one answer
const SHOWN = 400; // bytes of a payload that a row needs: the server sends no more
const MOST_AT_ONCE = 1000; // jobs that are cancelled or promoted together
export const STATES = ['ready', 'active', 'delayed', 'held', 'dead', 'done'];

export const stateText = (state) => t(state === 'done' ? 'done jobs' : state);

// The verb that deletes jobs that are over has the name of their state.
const isOver = (state) => state === 'dead' || state === 'done';

export function jobActions(name, job, then) {
  const fields = { ...fieldsOf(name), id: job.id };
  return [
    job.state === 'delayed' ? button(t('promote'), 'queue/promote', () => act('queue/promote', fields, { then })) : null,
    job.state === 'dead' ? button(t('retry'), 'queue/retry', () => act('queue/retry', fields, { then })) : null,
    job.state === 'active' ? button(t('requeue'), 'queue/requeue', () => act('queue/requeue', { ...fields, force: true }, {
      asks: { title: t('requeue'), text: t('ask requeue', job.id), yes: t('requeue') }, then,
    })) : null,
    isOver(job.state)
      ? button(t('delete'), 'queue/' + job.state, () => act('queue/' + job.state, { ...fields, delete: true }, {
        asks: { title: t('delete'), text: t(job.state === 'dead' ? 'ask delete job' : 'ask delete done job', job.id), yes: t('delete') }, then,
      }), { danger: true })
      : button(t('cancel job'), 'queue/cancel', () => act('queue/cancel', fields, {
        asks: { title: t('cancel job'), text: t('ask cancel job', job.id), yes: t('cancel job') }, then,
      }), { danger: true }),
  ];
}

// ---- All that were found --------------------------------------------------------------------------

// The server chooses jobs that are over, by the same text, at the moment of the act.
async function actOnOver(name, text, { verb, fields, title, danger, then }) {
  const chosen = { ...fieldsOf(name), ...fields, text };
  try {
    const { matching } = await call(verb, { ...chosen, 'dry-run': true });
    await act(verb, chosen, { asks: { title, danger, yes: title, text: t('ask matches', count(matching), text) }, then });
  } catch (error) {
    notice(error.message, true);
  }
}

// The page looks for other jobs first, and chooses them by their ids.
async function actOnOthers(name, state, text, { verb, title, danger, then }) {
  try {
    const { found } = await call('queue/find', { ...fieldsOf(name), text, state, max: MOST_AT_ONCE, cut: 1 });
    if (found.length === 0 || (await question({ title, danger, yes: title, text: t('ask matches', count(found.length), text) })) === null) return;
    await act(verb, { ...fieldsOf(name), id: found.map((job) => job.id) });
    await then(); // also when some of the jobs were gone
  } catch (error) {
    notice(error.message, true);
  }
}

function foundActions(name, state, text, then) {
  if (isOver(state))
    return [
      state === 'dead' ? button(t('retry all'), 'queue/retry', () => actOnOver(name, text, { verb: 'queue/retry', fields: {}, title: t('retry all'), danger: false, then })) : null,
      button(t('delete all'), 'queue/' + state, () => actOnOver(name, text, { verb: 'queue/' + state, fields: { delete: true, yes: true }, title: t('delete all'), danger: true, then }), { danger: true }),
    ];
  return [
    state === 'delayed' ? button(t('promote all'), 'queue/promote', () => actOnOthers(name, state, text, { verb: 'queue/promote', title: t('promote all'), danger: false, then })) : null,
    button(t('cancel all'), 'queue/cancel', () => actOnOthers(name, state, text, { verb: 'queue/cancel', title: t('cancel all'), danger: true, then }), { danger: true }),
  ];
}

// ---- The table ------------------------------------------------------------------------------------

const when = { ready: 'pushed_at', active: 'since', delayed: 'due_at', held: 'pushed_at', dead: 'since', done: 'since' };

function jobTable(name, state, then) {
  return table({
    title: stateText(state), id: (job) => job.id, none: t(state === 'done' ? 'no done jobs' : 'no jobs'),
    columns: [
      { key: 'id', cell: (job) => h('a', { href: `#/queues/${nameToPath(name)}/${job.id}` }, job.id) },
      { key: 'kind', cell: (job) => (job.kind === null ? '' : nameNode(job.kind)) },
      { key: 'payload', cell: (job) => h('code', {}, visible(cut(masked(textOf(job.payload)), 100))) },
      { key: 'attempt', number: true }, { key: 'priority', number: true },
      { key: when[state], cell: (job) => timeNode(job[when[state]] ?? job.pushed_at) },
      state === 'active' || state === 'done' ? { key: 'worker', cell: (job) => (job.worker ? `${visible(textOf(job.worker.host))}:${job.worker.pid}` : '–') }
        : { key: 'error', cell: (job) => (job.error === null ? '' : nameNode(job.error)) },
    ],
    actions: (job, current) => jobActions(name, current(), then),
  });
}

export async function showJobs(view, root, name, state) {
  const here = `#/queues/${nameToPath(name)}`, skip = Number(view.params.get('skip') ?? 0);
  const jobs = jobTable(name, state, () => view.refresh());
  const pager = h('p', { class: 'pager' }), acts = h('p', { class: 'buttons' });
  const page = (to, text) => h('a', { href: `${here}?state=${state}&skip=${to}` }, text);
  let timer = null, asked = 0;

  async function showPage() {
    const rows = await call('queue/peek', { ...fieldsOf(name), state, max: JOBS, skip, cut: SHOWN }, view.signal);
    if (box.value !== '') return;
    jobs.update(rows);
    put(acts);
    put(pager, skip > 0 ? page(Math.max(0, skip - JOBS), t('earlier')) : null, ' ',
      rows.length > 0 ? t('rows', count(skip + 1), count(skip + rows.length)) : null, ' ',
      rows.length === JOBS ? page(skip + JOBS, t('later')) : null);
  }

  // A search looks through all jobs of this state, so it is not repeated every few seconds.
  async function showFound() {
    const text = box.value, turn = ++asked, found = [];
    let next = null;
    put(acts);
    do { // the server searches for a moment at a time, and the page shows what it has
      const more = await call('queue/find', { ...fieldsOf(name), text, state, after: next ?? undefined, within: WITHIN, max: FOUND - found.length, cut: SHOWN }, view.signal);
      if (turn !== asked || text !== box.value) return;
      found.push(...more.found);
      next = more.next;
      jobs.update(found);
      put(pager, t('searching', count(found.length)));
    } while (next !== null && found.length < FOUND);
    put(acts, found.length > 0 ? foundActions(name, state, text, () => view.refresh()) : null);
    put(pager, found.length > 0 ? t(next ? 'found first' : 'found', count(found.length)) : null);
  }

  const show = () => (box.value === '' ? showPage() : showFound());
  const box = h('input', {
    type: 'search', class: 'filter', placeholder: t('search jobs'), 'aria-label': t('search jobs'), value: view.params.get('q') ?? '',
    oninput: () => {
      view.setParam('q', box.value);
      clearTimeout(timer);
      timer = setTimeout(() => show().catch((error) => error.name === 'AbortError' || notice(error.message, true)), PAUSE_MS);
    },
  });
  const find = ask({ fields: [{ name: 'id', label: t('job id') }], text: t('look up'), then: ({ id }) => { location.hash = `${here}/${encodeURIComponent(id.trim())}`; } });
  put(root, h('div', { class: 'row' }, box, find), acts, jobs.element, pager);
  if (box.value !== '') await showFound();
  await view.every(3000, async () => {
    if (box.value === '') await showPage();
  });
  view.refreshers.push(async () => {
    if (box.value !== '') await showFound();
  });
}
