// Statistics: the numbers of a context, and the slowest contexts of a type.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, callOrNull } from '../api.js';
import { nameNode, nameToPath, textOf } from '../format.js';
import { act, button, card, empty, facts, table } from '../widgets.js';
import { crumbs, showNames } from './names.js';

async function showType(view, type) {
  const contexts = table({
    title: t('contexts'), id: (row) => JSON.stringify(row.context), sort: 'context',
    columns: [{ key: 'context', cell: (row) => h('a', { href: `#/stats/${nameToPath(type)}/${nameToPath(row.context)}` }, nameNode(row.context)) }],
  });
  const slowest = h('div');
  view.show(crumbs(view, 'stats', type), card(t('slowest'), slowest), card(t('contexts'), view.filterBox(contexts), contexts.element));
  await view.every(10000, async () => {
    contexts.update(await call('stats/contexts', { type }, view.signal));
    const found = await callOrNull('stats/slowest', { type, count: 20 }, view.signal);
    put(slowest, !found || found.contexts.length === 0 ? empty(t('nothing')) : view.rows(t('slowest'), found.contexts, ['context', 'mean', 'p99', 'count']));
  });
}

async function showContext(view, type, context) {
  const root = h('div', { class: 'plots' });
  view.show(crumbs(view, 'stats', type, context), root, h('p', { class: 'buttons' },
    button(t('drop'), 'stats/drop', () => act('stats/drop', { context, type, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(context)), yes: t('drop') }, then: () => { location.hash = '#/stats/' + nameToPath(type); },
    }), { danger: true })));
  await view.every(5000, async () => {
    const hours = await Promise.all([{}, { last: true }].map((hour) => callOrNull('stats/show', { context, type, ...hour }, view.signal)));
    put(root, hours.map((hour, i) => card(t(i === 0 ? 'this hour' : 'last hour'), hour ? facts(hour) : empty(t('nothing')))));
  });
}

export default {
  name: 'stats',
  needs: 'stats/list',
  async show(view) {
    const [type, context] = view.path;
    if (type === undefined) await showNames(view, { page: 'stats', list: 'stats/list', key: 'type' });
    else if (context === undefined) await showType(view, type);
    else await showContext(view, type, context);
  },
};
