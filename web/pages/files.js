// Files in flight: how far they are, and who lacks them.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { bytes, nameNode, textOf } from '../format.js';
import { act, bar, button, card, empty, facts, rowsTable } from '../widgets.js';
import { crumbs, showNames } from './names.js';

async function showChannel(view, channel) {
  const root = h('div');
  view.show(crumbs(view, 'files', channel), root);
  await view.every(2000, async () => {
    const { files, receivers, troubles, ...rest } = await call('files/status', { channel }, view.signal);
    put(root, card(null, h('p', {}, bytes(rest.bytes), ' / ', bytes(rest.max_bytes), ' ', bar(rest.bytes / rest.max_bytes)), facts(rest, ['file_count'])),
      troubles.length === 0 ? null : card(t('troubles'), rowsTable(t('troubles'), troubles, Object.keys(troubles[0])).element),
      card(t('files'), files.length === 0 ? empty(t('nothing')) : rowsTable(t('files'), files, ['name', 'state', 'size', 'sent', 'waiting_for'], {
        columns: { sent: { number: false, cell: (file) => [bytes(file.sent), ' ', bar(file.size > 0 ? file.sent / file.size : 1)] } },
      }).element),
      card(t('receivers'), receivers.length === 0 ? empty(t('nothing')) : rowsTable(t('receivers'), receivers, ['name', 'gone', 'gone_ms', 'file_count', 'bytes'], {
        columns: { name: { cell: (row) => nameNode(row.name) } },
        actions: (row) => [button(t('give up'), 'files/drop-receiver', () => act('files/drop-receiver', { channel, receiver: row.name, yes: true }, {
          asks: { title: t('give up'), text: t('ask give up', textOf(row.name)), yes: t('give up') }, then: () => view.refresh(),
        }), { danger: true })],
      }).element));
  });
}

export default {
  name: 'files',
  needs: 'files/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'files', list: 'files/list', key: 'channel' }) : showChannel(view, view.path[0])),
};
