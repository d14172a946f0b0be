// Limits: what a key has used. They are listed only when the user asks for it: that looks through all
// keys of the server.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, callOrNull } from '../api.js';
import { nameNode, nameToPath, percent, textOf } from '../format.js';
import { act, ask, bar, button, card, empty, facts, notice, table } from '../widgets.js';
import { crumbs } from './names.js';

// A button that lists the limits, or the keys of one.
function listing(view, name) {
  const field = name === undefined ? 'name' : 'key';
  const here = name === undefined ? '#/limits/' : `#/limits/${nameToPath(name)}/`;
  const found = table({
    title: t('limits'), sort: field, none: t('none of limits'), id: (row) => JSON.stringify(row[field]),
    columns: [{ key: field, title: t('limit ' + field), cell: (row) => h('a', { href: here + nameToPath(row[field]) }, nameNode(row[field])) }],
  });
  const root = h('div');
  return card(null, h('p', { class: 'buttons' }, button(t(name === undefined ? 'list limits' : 'list keys'), 'limit/list', async () => {
    try {
      found.update(await call('limit/list', name === undefined ? {} : { name }, view.signal));
      put(root, view.filterBox(found), found.element);
    } catch (error) {
      if (error.name !== 'AbortError') notice(error.message, true);
    }
  })), root);
}

export default {
  name: 'limits',
  needs: 'limit/show',
  async show(view) {
    const [name, key] = view.path, root = h('div');
    const form = ask({
      fields: [{ name: 'name', label: t('limit name'), value: textOf(name) }, { name: 'key', label: t('limit key'), value: textOf(key) }],
      text: t('look up'),
      then: (values) => { location.hash = `#/limits/${nameToPath(values.name)}/${nameToPath(values.key)}`; },
    });
    view.show(name === undefined ? view.title(t('limits')) : crumbs(view, 'limits', ...[name, key].filter((part) => part !== undefined)),
      h('p', { class: 'quiet' }, t('about limits')), card(null, form), root);
    if (key === undefined) {
      put(root, listing(view, name));
      return;
    }
    await view.every(2000, async () => {
      const found = await callOrNull('limit/show', { name, key }, view.signal);
      if (found === null) {
        put(root, card(null, empty(t('limit unused'))));
        return;
      }
      const { takes, ...rest } = found; // some algorithms tell takes and refusals
      put(root, card(null, h('p', {}, t('used'), ' ', percent(found.taken / found.limit), ' ', bar(found.taken / found.limit)), facts(rest),
        h('p', { class: 'buttons' }, button(t('reset'), 'limit/reset', () => act('limit/reset', { name, key }, {
          asks: { title: t('reset'), text: t('ask reset', textOf(key)), yes: t('reset') }, then: () => view.refresh(),
        }), { danger: true }))),
      takes?.length > 0 ? card(t('takes'), view.rows(t('takes'), takes, ['at', 'quantity', 'denied'])) : null);
    });
  },
};
