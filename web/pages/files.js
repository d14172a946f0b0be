// Files in flight: how far they are, and which receivers lack them.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { bytes, textOf } from '../format.js';
import { act, bar, button, card, empty, facts } from '../widgets.js';
import { crumbs, showNames } from './names.js';

function giveUpButton(view, channel, receiver) {
  return button(t('give up'), 'files/drop-receiver', () => act('files/drop-receiver', { channel, receiver, yes: true }, {
    asks: { title: t('give up'), text: t('ask give up', textOf(receiver)), yes: t('give up') }, then: () => view.refresh(),
  }), { danger: true });
}

async function showChannel(view, channel) {
  const about = h('div'), sent = h('div'), people = h('div'), wrong = h('div');
  view.show(crumbs(view, 'files', channel), card(null, about), card(t('files'), sent), card(t('receivers'), people), card(t('troubles'), wrong));
  await view.every(2000, async () => {
    const { files, receivers, troubles, ...rest } = await call('files/status', { channel }, view.signal);
    put(about, h('p', {}, t('memory'), ' ', bytes(rest.bytes), ' / ', bytes(rest.max_bytes), ' ', bar(rest.bytes / rest.max_bytes)),
      facts(rest, ['file_count']));
    put(sent, files.length === 0 ? empty(t('nothing')) : view.rows(t('files'), files, ['name', 'state', 'size', 'sent', 'waiting_for'], {
      columns: { sent: { number: false, cell: (file) => [bytes(file.sent), ' ', bar(file.size > 0 ? file.sent / file.size : 1)] } },
    }));
    put(people, receivers.length === 0 ? empty(t('nothing')) : view.rows(t('receivers'), receivers, ['name', 'gone', 'gone_ms', 'file_count', 'bytes'], {
      actions: (row) => [giveUpButton(view, channel, row.name)],
    }));
    put(wrong, troubles.length === 0 ? empty(t('nothing')) : view.rows(t('troubles'), troubles, Object.keys(troubles[0])));
  });
}

export default {
  name: 'files',
  needs: 'files/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'files', list: 'files/list', key: 'channel' }) : showChannel(view, view.path[0])),
};
