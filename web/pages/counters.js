// Counters: live, and in all precisions.
import { h } from '../dom.js';
import { language, t } from '../words.js';
import { call } from '../api.js';
import { count, nameNode, nameToPath, textOf } from '../format.js';
import { act, button, table, tabs } from '../widgets.js';
import { WHOLE, plot, spark } from '../plot.js';
import { crumbs } from './names.js';

const PRECISIONS = ['1s', '5s', '1m', '5m', '1h', '5h', '1d'];
const POINTS = 300;

async function showAll(view) {
  const all = table({
    title: t('counters'), sort: 'name', none: t('none of counters'),
    columns: [
      { key: 'name', title: t('counter'), cell: (row) => h('a', { href: '#/counters/' + nameToPath(row.name) }, nameNode(row.name)) },
      { key: 'second', number: true }, { key: 'minute', number: true },
      { key: 'seconds', title: t('two minutes'), cell: (row) => spark(row.seconds ?? []) },
    ],
  });
  view.show(view.title(t('counters')), h('section', { class: 'card' }, view.filterBox(all), all.element));
  const listed = await call('counter/list', {}, view.signal);
  all.update(listed);
  view.onSample((sample) => {
    if (!Array.isArray(sample.counters)) return;
    const live = new Map(sample.counters.map((row) => [JSON.stringify(row.name), row]));
    for (const row of listed) if (!live.has(JSON.stringify(row.name))) live.set(JSON.stringify(row.name), row);
    all.update([...live.values()]);
  });
}

async function showOne(view, name) {
  const every = view.params.get('every') ?? '1m';
  const isLong = ['1h', '5h', '1d'].includes(every);
  const drawing = plot({
    title: t('counter'), format: count, steps: WHOLE, lines: [{ key: 'count', name: t('per slice', every) }],
    clock: (ms) => (isLong ? new Date(ms).toLocaleString(language(), { dateStyle: 'short', timeStyle: every === '1d' ? undefined : 'short' }) : new Date(ms).toLocaleTimeString(language())),
  });
  view.show(crumbs(view, 'counters', name),
    tabs(PRECISIONS.map((key) => ({ key, text: key, href: `#/counters/${nameToPath(name)}?every=${key}` })), every),
    h('div', { class: 'wide' }, drawing.element),
    h('p', { class: 'buttons' }, button(t('drop'), 'counter/drop', () => act('counter/drop', { name, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(name)), yes: t('drop') }, then: () => { location.hash = '#/counters'; },
    }), { danger: true })));
  await view.every(every === '1s' ? 2000 : 5000, async () => {
    const slices = await call('counter/series', { name, every }, view.signal);
    drawing.update(slices.slice(-POINTS).map((slice) => ({ time: Date.parse(slice.time), count: slice.counts[0] })));
  });
}

export default {
  name: 'counters',
  needs: 'counter/list',
  key: 'c',
  show: (view) => (view.path[0] === undefined ? showAll(view) : showOne(view, view.path[0])),
};
