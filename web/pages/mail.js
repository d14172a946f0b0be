// Mailboxes: unread messages and sizes.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { count, textOf } from '../format.js';
import { act, button, card, facts } from '../widgets.js';
import { crumbs, showNames } from './names.js';

async function showBox(view, name) {
  const root = h('div'), acts = h('p', { class: 'buttons' });
  view.show(crumbs(view, 'mail', name), card(null, root), acts);
  await view.every(3000, async () => {
    const box = await call('mail/show', { name }, view.signal);
    put(root, facts(box));
    if (acts.children.length > 0) return;
    put(acts, button(t('purge'), 'mail/purge', () => act('mail/purge', { name, yes: true }, {
      asks: { title: t('purge'), text: t('ask purge', count(box.unread), textOf(name)), yes: t('purge') }, then: () => view.refresh(),
    }), { danger: true }), button(t('drop'), 'mail/drop', () => act('mail/drop', { name, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(name)), yes: t('drop') }, then: () => { location.hash = '#/mail'; },
    }), { danger: true }));
  });
}

export default {
  name: 'mail',
  needs: 'mail/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'mail', list: 'mail/list' }) : showBox(view, view.path[0])),
};
