// Sessions: the items viewed most, and the sessions of a user.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { textOf } from '../format.js';
import { act, ask, button, card, empty } from '../widgets.js';
import { crumbs, showNames } from './names.js';

async function showStore(view, store) {
  const top = h('div'), found = h('div');
  let user = view.params.get('user');
  const list = async () => {
    if (!user) return;
    const rows = await call('session/list', { user, store, count: 100 }, view.signal);
    put(found, rows.length === 0 ? empty(t('no sessions')) : [view.rows(t('sessions'), rows, ['id', 'created_at', 'seen_at', 'ends_at']),
      h('p', { class: 'buttons' }, button(t('end sessions'), 'session/end', () => act('session/end', { user, store }, {
        asks: { title: t('end sessions'), text: t('ask end sessions', user), yes: t('end sessions') }, then: list,
      }), { danger: true }))]);
  };
  view.show(crumbs(view, 'sessions', store), card(t('sessions of user'), ask({
    fields: [{ name: 'user', label: t('user'), value: user ?? '' }], text: t('look up'),
    then: (values) => {
      user = values.user;
      view.setParam('user', user);
      view.refresh().catch((error) => put(found, empty(error.message)));
    },
  }), found), card(t('top items'), top));
  await view.every(5000, async () => {
    const rows = await call('session/top', { store, count: 100 }, view.signal);
    put(top, rows.length === 0 ? empty(t('nothing')) : view.rows(t('top items'), rows.map((row) => ({ ...row, item: textOf(row.item) })), ['item', 'views']));
    await list();
  });
}

export default {
  name: 'sessions',
  needs: 'session/stores',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'sessions', list: 'session/stores', key: 'store' }) : showStore(view, view.path[0])),
};
