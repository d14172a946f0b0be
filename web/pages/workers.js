// Workers of the queues, and their jobs.
import { h } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { nameNode, nameToPath, textOf, timeNode, visible } from '../format.js';
import { table } from '../widgets.js';

const jobLink = (job) => h('a', { href: `#/queues/${nameToPath(job.queue)}/${job.id}` }, nameNode(job.queue), ' ', job.id);

// A table of workers as `queue workers` lists them.
export function workerTable() {
  return table({
    title: t('workers'), id: (row) => row.id, none: t('none of workers'),
    columns: [
      { key: 'host', title: t('worker'), cell: (row) => `${visible(textOf(row.host))}:${row.pid}`, said: (row) => [row.host, row.pid] },
      { key: 'program', searched: true }, { key: 'label', searched: true },
      { key: 'threads', number: true }, { key: 'done', number: true }, { key: 'failed', number: true },
      { key: 'seen_at', cell: (row) => timeNode(row.seen_at) },
      { key: 'jobs', title: t('runs'), cell: (row) => (row.jobs.length === 0 ? t(row.waiting ? 'waits' : 'nothing')
        : h('ul', { class: 'plain' }, row.jobs.slice(0, 10).map((job) => h('li', {}, jobLink(job), ' ', timeNode(job.since))))) },
    ],
  });
}

export default {
  name: 'workers',
  needs: 'queue/workers',
  key: 'w',
  async show(view) {
    const workers = workerTable();
    view.show(view.title(t('workers')), h('section', { class: 'card' }, view.filterBox(workers), workers.element));
    await view.every(5000, async () => workers.update(await call('queue/workers', {}, view.signal)));
  },
};
