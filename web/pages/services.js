// Services and their instances.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { card, empty } from '../widgets.js';
import { crumbs, showNames } from './names.js';

async function showService(view, name) {
  const root = h('div');
  view.show(crumbs(view, 'services', name), card(t('instances'), root));
  await view.every(3000, async () => {
    const rows = await call('service/list', { name }, view.signal);
    put(root, rows.length === 0 ? empty(t('nothing')) : view.rows(t('instances'), rows, Object.keys(rows[0])));
  });
}

export default {
  name: 'services',
  needs: 'service/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'services', list: 'service/list' }) : showService(view, view.path[0])),
};
