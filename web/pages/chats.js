// Chats: members, their unread messages, and the last messages.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, may } from '../api.js';
import { nameNode, textOf, timeNode, visible } from '../format.js';
import { act, button, card, empty, facts } from '../widgets.js';
import { crumbs, showNames } from './names.js';

const MESSAGES = 30;

async function showChat(view, name) {
  const members = h('div'), about = h('div'), talk = h('div');
  view.show(crumbs(view, 'chats', name), card(t('members'), members), card(t('messages'), talk), card(t('settings'), about),
    h('p', { class: 'buttons' }, button(t('drop'), 'chat/drop', () => act('chat/drop', { name, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(name)), yes: t('drop') }, then: () => { location.hash = '#/chats'; },
    }), { danger: true })));
  await view.every(3000, async () => {
    const { members: people, ...rest } = await call('chat/show', { name }, view.signal);
    put(members, view.rows(t('members'), people, ['name', 'unread', 'acked_id', 'missed']));
    put(about, facts(rest));
    if (people.length === 0 || !may('chat/history')) return;
    const messages = await call('chat/history', { name, member: people[0].name, count: MESSAGES }, view.signal).catch(() => []);
    if (view.changed('messages', messages)) put(talk, messages.length === 0 ? empty(t('nothing')) : h('ol', { class: 'plain talk' }, messages.map((message) =>
      h('li', {}, h('b', {}, nameNode(message.sender)), ' ', h('span', { class: 'quiet' }, timeNode(message.time)),
        h('p', {}, visible(textOf(message.body).slice(0, 1000)))))));
  });
}

export default {
  name: 'chats',
  needs: 'chat/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'chats', list: 'chat/list' }) : showChat(view, view.path[0])),
};
