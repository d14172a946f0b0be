// A job: its payload, its story, why it waits, and what can be done with it.
import { h, put } from '../dom.js';
import { label, t } from '../words.js';
import { callOrNull, may } from '../api.js';
import { drawFlow } from '../flow.js';
import { layOut, masked, nameNode, nameToPath, textOf } from '../format.js';
import { act, button, card, empty, facts, notice, question } from '../widgets.js';
import { causeText } from './queue.js';
import { jobActions, stateText } from './jobs.js';
import { fieldsOf, pushJob } from './push.js';

const FACTS = ['state', 'kind', 'priority', 'attempt', 'retries', 'pushed_at', 'due_at', 'started_at', 'since', 'until', 'group', 'unique', 'progress', 'meta', 'payload_size'];
const WAITING = ['ready', 'delayed', 'held'];
const SHOWN = 4096, WHOLE_MOST = 65536, EDIT_MOST = 100000; // bytes of a payload

// A job, with all of its payload or only the part that is shown; null when it is gone.
const readJob = (name, id, cut, signal) => callOrNull('queue/show', { ...fieldsOf(name), id, cut }, signal);

// Reads a job with all of its payload, and calls a function with it.
async function withWhole(name, id, use) {
  try {
    const job = await readJob(name, id);
    if (job === null) notice(t('job gone'), true);
    else await use(job);
  } catch (error) {
    notice(error.message, true);
  }
}

async function editJob(name, job, then) {
  const values = await question({ title: t('edit'), yes: t('save'), fields: [{ name: 'payload', label: t('payload'), rows: 14, value: job.payload }] });
  if (values !== null) await act('queue/edit', { ...fieldsOf(name), id: job.id, payload: values.payload }, { then });
}

function editButtons(name, { id, state, payload, payload_size }, then) {
  if (payload_size > (state === 'done' ? WHOLE_MOST : EDIT_MOST)) return []; // the queue keeps only a part of larger done jobs
  return [
    typeof payload === 'string' && state !== 'active' && state !== 'done' ? button(t('edit'), 'queue/edit', () => withWhole(name, id, (job) => editJob(name, job, then))) : null,
    button(t('push copy'), 'queue/push', () => withWhole(name, id, (job) => pushJob(name, { job, title: t('push copy') }))),
  ];
}

async function showFlow(view, root, name, id) {
  if (!may('queue/flow')) return;
  await view.every(5000, async () => {
    const found = await callOrNull('queue/flow', { ...fieldsOf(name), id }, view.signal);
    if (!view.changed('flow', found)) return;
    root.hidden = !(found?.jobs.length > 1); // a job that waits for none stands alone
    drawFlow(root, found ?? { jobs: [] }, id, (one) => `#/queues/${nameToPath(name)}/${one}`);
  });
}

export async function showJob(view, name, id) {
  const title = view.title(h('a', { href: '#/queues' }, t('queues')), ' / ',
    h('a', { href: '#/queues/' + nameToPath(name) }, nameNode(name)), ' / ', nameNode(id));
  const acts = h('p', { class: 'buttons' }), about = h('div'), payload = h('pre', { tabindex: '0' }), why = h('div'), flow = h('section', { class: 'card', hidden: true }), mask = h('p', { class: 'buttons' });
  let masks = true, cut = SHOWN;
  const showPayload = (job) => {
    const isCut = cut !== undefined, bare = layOut(job.payload, { masks: false, isCut });
    put(payload, layOut(job.payload, { masks, isCut }));
    put(mask, masked(bare) === bare ? null : h('button', { type: 'button', onclick: () => { masks = !masks; showPayload(job); } }, t(masks ? 'show masked' : 'mask again')));
  };
  view.show(title, acts, card(null, about, why), flow, card(label('payload'), payload, mask));
  await Promise.all([showFlow(view, flow, name, textOf(id)), view.every(2000, async () => {
    let job = await readJob(name, textOf(id), cut, view.signal);
    if (cut && job?.payload_size <= WHOLE_MOST) { // JSON is laid out as a whole
      cut = undefined;
      if (job.payload_size > SHOWN) job = await readJob(name, textOf(id), cut, view.signal);
    } else if (job?.payload_size > WHOLE_MOST) {
      cut = SHOWN;
    }
    if (job === null) {
      put(acts);
      put(about, empty(t('job gone')));
      put(why);
      return;
    }
    const cause = WAITING.includes(job.state) ? await callOrNull('queue/why', { ...fieldsOf(name), id: job.id }, view.signal) : null;
    if (view.changed('acts', [job.state, job.payload])) put(acts, jobActions(name, job, () => view.refresh()), editButtons(name, job, () => view.refresh()));
    if (view.changed('job', job)) put(about, facts({ ...job, state: stateText(job.state) }, FACTS.filter((key) => job[key] !== null)),
      job.worker ? [h('h2', {}, label('worker')), facts(job.worker)] : null,
      job.error !== null ? [h('h2', {}, label('error')), h('pre', { tabindex: '0' }, layOut(job.error))] : null,
      job.result !== null ? [h('h2', {}, label('result')), h('pre', { tabindex: '0' }, layOut(job.result))] : null);
    if (view.changed('why', cause)) put(why, cause && cause.causes.length > 0 ? [h('h2', {}, t('why')), h('ul', {}, cause.causes.map((one) => h('li', {}, causeText(one))))] : null);
    if (view.changed('payload', job.payload)) showPayload(job);
  })]);
}
