// Pages that begin with the names of a component, each of which has a page of its own.
import { h } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { nameNode, nameToPath } from '../format.js';
import { table } from '../widgets.js';

// Shows all names that `list` answers with, as links.
export async function showNames(view, { page, list, field = 'name', key = 'name', about = null, extra = null }) {
  const names = table({
    title: t(page), id: (row) => JSON.stringify(row[field]), sort: field,
    columns: [{ key: field, title: t(key), cell: (row) => h('a', { href: `#/${page}/` + nameToPath(row[field]) }, nameNode(row[field])) }],
    none: t('none of ' + page),
  });
  view.show(view.title(t(page)), about ? h('p', { class: 'quiet' }, about) : null, extra,
    h('section', { class: 'card' }, view.filterBox(names), names.element));
  await view.every(10000, async () => names.update(await call(list, {}, view.signal)));
}

// The heading of a thing on its page, with the way back.
export function crumbs(view, page, ...names) {
  return view.title(h('a', { href: '#/' + page }, t(page)), names.map((name, i) => [' / ', i < names.length - 1
    ? h('a', { href: '#/' + [page, ...names.slice(0, i + 1).map(nameToPath)].join('/') }, nameNode(name)) : nameNode(name)]));
}
