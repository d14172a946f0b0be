// Queues: all of them, live. A queue and a job have pages of their own.
import { h } from '../dom.js';
import { t } from '../words.js';
import { nameNode, nameToPath, rate } from '../format.js';
import { act, button, table } from '../widgets.js';
import { showQueue } from './queue.js';
import { showJob } from './job.js';

const number = (key, more = {}) => ({ key, number: true, ...more });
const perSecond = (key) => number(key, { cell: (row) => rate(row[key]) });

function pauseButton(row, current) {
  const paused = row.state === 'paused', verb = paused ? 'queue/resume' : 'queue/pause';
  return button(t(paused ? 'resume' : 'pause'), verb, () =>
    act(verb, { name: current().name, partitions: current().partitions }));
}

async function showQueues(view) {
  const all = table({
    title: t('queues'),
    sort: 'name',
    none: t('none of queues'),
    columns: [
      { key: 'name', title: t('queue'), cell: (row) => h('a', { href: '#/queues/' + nameToPath(row.name) }, nameNode(row.name)) },
      number('ready'), number('active'), number('delayed'), number('held'),
      number('dead', { cell: (row) => (row.dead > 0 ? h('a', { class: 'bad', href: `#/queues/${nameToPath(row.name)}?state=dead` }, String(row.dead)) : '0') }),
      perSecond('pushed_per_second'), perSecond('done_per_second'), perSecond('failed_per_second'),
      number('oldest_ms'), number('waiters', { title: t('idle') }),
      { key: 'state', cell: (row) => (row.state === 'paused' ? h('span', { class: 'badge' }, t('paused')) : row.state ?? '') },
    ],
    actions: (row, current) => [pauseButton(row, current)],
  });
  view.show(view.title(t('queues')), h('section', { class: 'card' }, view.filterBox(all), all.element));
  view.onSample((sample) => {
    if (Array.isArray(sample.queues)) all.update(sample.queues);
  });
}

export default {
  name: 'queues',
  needs: 'queue/list',
  key: 'q',
  async show(view) {
    const [name, id] = view.path;
    if (name === undefined) await showQueues(view);
    else if (id === undefined) await showQueue(view, name);
    else await showJob(view, name, id);
  },
};
