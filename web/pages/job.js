// A job: its payload, its story, why it waits, and what can be done with it.
import { h, put } from '../dom.js';
import { label, t } from '../words.js';
import { callOrNull } from '../api.js';
import { layOut, nameNode, nameToPath, textOf } from '../format.js';
import { button, card, empty, facts } from '../widgets.js';
import { causeText, fieldsOf, jobActions, pushJob } from './queue.js';

const FACTS = ['state', 'kind', 'priority', 'attempt', 'retries', 'pushed_at', 'due_at', 'since', 'until', 'group', 'unique', 'progress', 'meta'];

export async function showJob(view, name, id) {
  const title = view.title(h('a', { href: '#/queues' }, t('queues')), ' / ',
    h('a', { href: '#/queues/' + nameToPath(name) }, nameNode(name)), ' / ', nameNode(id));
  const acts = h('p', { class: 'buttons' }), about = h('div'), payload = h('pre', { tabindex: '0' }), why = h('div');
  view.show(title, acts, card(null, about, why), card(label('payload'), payload));
  await view.every(2000, async () => {
    const job = await callOrNull('queue/show', { ...fieldsOf(name), id: textOf(id) }, view.signal);
    if (job === null) {
      put(acts);
      put(about, empty(t('job gone')));
      put(why);
      return;
    }
    const cause = ['ready', 'delayed', 'held'].includes(job.state)
      ? await callOrNull('queue/why', { ...fieldsOf(name), id: job.id }, view.signal) : null;
    if (view.changed('state', job.state)) put(acts, jobActions(name, job, () => view.refresh()),
      button(t('push copy'), 'queue/push', () => pushJob(name, textOf(job.payload), null)));
    if (view.changed('job', job)) put(about, facts({ ...job, state: t(job.state) }, FACTS),
      job.worker ? [h('h2', {}, label('worker')), facts(job.worker)] : null,
      job.error !== null ? [h('h2', {}, label('error')), h('pre', { tabindex: '0' }, layOut(job.error))] : null);
    if (view.changed('why', cause)) put(why, cause && cause.causes.length > 0 ? [h('h2', {}, t('why')), h('ul', {}, cause.causes.map((one) => h('li', {}, causeText(one))))] : null);
    put(payload, layOut(job.payload));
  });
}
