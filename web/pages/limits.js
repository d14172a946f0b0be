// Limits: what a key has used. They can be looked up, not listed: that would look through all keys of
// the server.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { callOrNull } from '../api.js';
import { nameToPath, percent, textOf } from '../format.js';
import { act, ask, bar, button, card, empty, facts } from '../widgets.js';
import { crumbs } from './names.js';

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
    view.show(name === undefined ? view.title(t('limits')) : crumbs(view, 'limits', name, key ?? ''),
      h('p', { class: 'quiet' }, t('about limits')), card(null, form), root);
    if (key === undefined) return;
    await view.every(2000, async () => {
      const found = await callOrNull('limit/show', { name, key }, view.signal);
      put(root, found === null ? card(null, empty(t('limit unused'))) : card(null,
        h('p', {}, t('used'), ' ', percent(found.taken / found.limit), ' ', bar(found.taken / found.limit)), facts(found),
        h('p', { class: 'buttons' }, button(t('reset'), 'limit/reset', () => act('limit/reset', { name, key }, {
          asks: { title: t('reset'), text: t('ask reset', textOf(key)), yes: t('reset') }, then: () => view.refresh(),
        }), { danger: true }))));
    });
  },
};
