// Limits: which ones refused lately, and the use of a key. Keys in use are listed only when the user
// asks for it, since that looks through all keys of the server.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, callOrNull, may } from '../api.js';
import { count, nameNode, nameToPath, percent, textOf } from '../format.js';
import { act, ask, bar, button, card, empty, facts, notice, table } from '../widgets.js';
import { crumbs } from './names.js';

const REFUSING_MAX = 200, KEYS_SHOWN = 3;

const keyLink = (name, key) => h('a', { href: `#/limits/${nameToPath(name)}/${nameToPath(key)}` }, nameNode(key));

// The limits that refused, in the order of the server: most refusals first.
function refusingLimits() {
  const limits = table({
    title: t('refused lately'), none: t('none refused'),
    columns: [
      { key: 'name', title: t('limit name'), cell: (row) => h('a', { href: '#/limits/' + nameToPath(row.name) }, nameNode(row.name)) },
      { key: 'this_hour', number: true }, { key: 'last_hour', number: true }, { key: 'refused', number: true },
      { key: 'most', title: t('refused most'), said: (row) => [row.error, row.keys], cell: (row) => row.error !== null
        ? h('span', { class: 'bad' }, row.error)
        : row.keys.slice(0, KEYS_SHOWN).map((one, i) => [i > 0 ? ', ' : null, keyLink(row.name, one.key), ' ', h('span', { class: 'quiet' }, count(one.refused))]) },
      { key: 'last_at' },
    ],
  });
  return {
    element: limits.element,
    update: (rows) => limits.update(rows.map((row) => ({ ...row, most: row.keys[0]?.refused ?? 0 }))),
  };
}

// How often one limit refused, and which keys.
function refusedKeys(name) {
  const numbers = h('div');
  const keys = table({
    title: t('refused most'), id: (row) => JSON.stringify(row.key), sort: 'refused', none: t('none refused by it'),
    columns: [{ key: 'key', cell: (row) => keyLink(name, row.key) }, { key: 'refused', title: t('in two hours'), number: true }],
  });
  return {
    element: [numbers, keys.element],
    update: (rows) => {
      const mine = rows.find((row) => JSON.stringify(row.name) === JSON.stringify(name));
      put(numbers, mine ? facts(mine, ['this_hour', 'last_hour', 'refused', 'last_at']) : null);
      keys.update(mine?.keys ?? []);
    },
  };
}

// The rest of the page works also when this cannot be read.
async function showRefusals(view, root, shown) {
  const problem = h('p', { class: 'problem' });
  put(root, card(t('refused lately'), problem, shown.element));
  await view.every(5000, async () => {
    try {
      const rows = await call('limit/refused', { max: REFUSING_MAX }, view.signal);
      put(problem);
      shown.update(rows.filter((row) => row.refused > 0 || row.error !== null)); // others only allowed
    } catch (error) {
      put(problem, error.message);
    }
  });
}

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
      const refusals = h('div');
      put(root, refusals, listing(view, name));
      if (may('limit/refused')) await showRefusals(view, refusals, name === undefined ? refusingLimits() : refusedKeys(name));
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
