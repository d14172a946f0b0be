// Locks, semaphores and leaders: who holds them, who waits in line.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { callOrNull, holdersOf } from '../api.js';
import { nameNode, nameToPath, textOf } from '../format.js';
import { act, bar, button, card, empty, facts, table } from '../widgets.js';
import { crumbs } from './names.js';

// By the part of a sample: the component, and its name in addresses.
const kinds = { locks: 'lock', semaphores: 'sem', leaders: 'leader' };

const linkTo = (component, name) => h('a', { href: `#/locks/${component}/` + nameToPath(name) }, nameNode(name));

function breakButton(component, name, then) {
  return button(t('break'), component + '/break', () => act(component + '/break', { name }, {
    asks: { title: t('break'), text: t('ask break', textOf(name)), yes: t('break') }, then,
  }), { danger: true });
}

async function showAll(view) {
  const tables = Object.entries(kinds).map(([part, component]) => ({
    part,
    grid: table({
      title: t(part), none: t('none held'),
      columns: [
        { key: 'name', cell: (row) => linkTo(component, row.name) },
        { key: 'held', number: true, title: t('holders'), said: (row) => [row.held, row.limit], cell: (row) => (row.limit ? [`${row.held} / ${row.limit} `, bar(row.held / row.limit)] : String(row.held ?? '–')) },
        { key: 'waiters', number: true }, { key: 'since_ms', number: true }, { key: 'left_ms', number: true },
        { key: 'holder', searched: true, title: t('first holder') },
      ],
      actions: (row, current) => [breakButton(component, current().name, null)],
    }),
  }));
  view.show(view.title(t('locks')), tables.map(({ part, grid }) => card(t(part), grid.element)));
  view.onSample((sample) => {
    for (const { part, grid } of tables) if (Array.isArray(sample[part])) grid.update(sample[part]);
  });
}

async function showOne(view, component, name) {
  const about = h('div'), held = h('div'), waiting = h('div');
  view.show(crumbs(view, 'locks', component, name), h('p', { class: 'buttons' }, breakButton(component, name, () => view.refresh())),
    card(null, about), card(t('holders'), held), card(t('line'), waiting));
  await view.every(2000, async () => {
    const found = await callOrNull(component + '/show', { name }, view.signal) ?? { name, holders: [], line: [] };
    const holders = holdersOf(found), { line } = found;
    const people = ['label', 'host', 'pid', component === 'leader' ? 'term' : 'fence', 'since_ms', 'left_ms'];
    put(about, facts(found, ['name', 'held', 'limit', 'shared', 'waiters', 'candidates']));
    put(held, holders.length === 0 ? empty(t('none held')) : view.rows(t('holders'), holders, people));
    put(waiting, line.length === 0 ? empty(t('nobody waits')) : view.rows(t('line'), line, ['label', 'host', 'pid', ...(component === 'lock' ? ['shared'] : [])]));
  });
}

export default {
  name: 'locks',
  needs: 'lock/list',
  key: 'l',
  async show(view) {
    const [component, name] = view.path;
    if (name !== undefined && Object.values(kinds).includes(component)) await showOne(view, component, name);
    else await showAll(view);
  },
};
