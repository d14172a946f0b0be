// A job: its payload, its story, why it waits, and what can be done with it.
import { h, put } from '../dom.js';
import { label, t } from '../words.js';
import { callOrNull } from '../api.js';
import { layOut, masked, nameNode, nameToPath, textOf } from '../format.js';
import { act, button, card, empty, facts, question } from '../widgets.js';
import { causeText } from './queue.js';
import { jobActions, stateText } from './jobs.js';
import { fieldsOf, pushJob } from './push.js';

const FACTS = ['state', 'kind', 'priority', 'attempt', 'retries', 'pushed_at', 'due_at', 'started_at', 'since', 'until', 'group', 'unique', 'progress', 'meta'];
const WAITING = ['ready', 'delayed', 'held'];
const EDIT_MOST = 100000; // characters

async function editJob(name, job, then) {
  const values = await question({ title: t('edit'), yes: t('save'), fields: [{ name: 'payload', label: t('payload'), rows: 14, value: job.payload }] });
  if (values !== null) await act('queue/edit', { ...fieldsOf(name), id: job.id, payload: values.payload }, { then });
}

function editButtons(name, job, then) {
  const isShort = textOf(job.payload).length <= EDIT_MOST, isText = typeof job.payload === 'string';
  return [
    isShort && isText && job.state !== 'active' && job.state !== 'done' ? button(t('edit'), 'queue/edit', () => editJob(name, job, then)) : null,
    isShort ? button(t('push copy'), 'queue/push', () => pushJob(name, { job, title: t('push copy') })) : null,
  ];
}

export async function showJob(view, name, id) {
  const title = view.title(h('a', { href: '#/queues' }, t('queues')), ' / ',
    h('a', { href: '#/queues/' + nameToPath(name) }, nameNode(name)), ' / ', nameNode(id));
  const acts = h('p', { class: 'buttons' }), about = h('div'), payload = h('pre', { tabindex: '0' }), why = h('div'), mask = h('p', { class: 'buttons' });
  let masks = true;
  const showPayload = (job) => {
    const bare = layOut(job.payload, { masks: false });
    put(payload, layOut(job.payload, { masks }));
    if (masked(bare) !== bare) put(mask, h('button', { type: 'button', onclick: () => { masks = !masks; showPayload(job); } }, t(masks ? 'show masked' : 'mask again')));
  };
  view.show(title, acts, card(null, about, why), card(label('payload'), payload, mask));
  await view.every(2000, async () => {
    const job = await callOrNull('queue/show', { ...fieldsOf(name), id: textOf(id) }, view.signal);
    if (job === null) {
      put(acts);
      put(about, empty(t('job gone')));
      put(why);
      return;
    }
    const cause = WAITING.includes(job.state) ? await callOrNull('queue/why', { ...fieldsOf(name), id: job.id }, view.signal) : null;
    if (view.changed('acts', [job.state, job.payload])) put(acts, jobActions(name, job, () => view.refresh()), editButtons(name, job, () => view.refresh()));
    if (view.changed('job', job)) put(about, facts({ ...job, state: stateText(job.state) }, FACTS),
      job.worker ? [h('h2', {}, label('worker')), facts(job.worker)] : null,
      job.error !== null ? [h('h2', {}, label('error')), h('pre', { tabindex: '0' }, layOut(job.error))] : null,
      job.result !== null ? [h('h2', {}, label('result')), h('pre', { tabindex: '0' }, layOut(job.result))] : null);
    if (view.changed('why', cause)) put(why, cause && cause.causes.length > 0 ? [h('h2', {}, t('why')), h('ul', {}, cause.causes.map((one) => h('li', {}, causeText(one))))] : null);
    if (view.changed('payload', job.payload)) showPayload(job);
  });
}
