// Users who were online by day, and how many came back.
import { h, put } from '../dom.js';
import { language, t } from '../words.js';
import { call, callOrNull } from '../api.js';
import { count, percent, textOf } from '../format.js';
import { act, button, card, facts } from '../widgets.js';
import { WHOLE, plot } from '../plot.js';
import { crumbs, showNames } from './names.js';

const SPANS = [1, 7, 30];

// How many of today's users were there in the days before; null for more days than are kept.
async function returning(view, name) {
  const spans = await Promise.all(SPANS.map(async (days) => {
    const found = await call('online/returning', { name, days }, view.signal).catch(() => null);
    return found === null ? null : { days, ...found, share: found.returning / Math.max(found.returning + found.fresh, 1) };
  }));
  return spans.filter((span) => span !== null);
}

async function showOne(view, name) {
  const days = plot({
    title: t('users by day'), format: count, steps: WHOLE, lines: [{ key: 'users', name: t('users') }],
    clock: (ms) => new Date(ms).toLocaleDateString(language()),
  });
  const back = h('div'), about = h('div');
  view.show(crumbs(view, 'online', name), h('div', { class: 'wide' }, days.element), card(t('returning'), back), card(t('settings'), about),
    h('p', { class: 'buttons' }, button(t('drop'), 'online/drop', () => act('online/drop', { name, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(name)), yes: t('drop') }, then: () => { location.hash = '#/online'; },
    }), { danger: true })));
  await view.every(10000, async () => {
    const report = await callOrNull('online/report', { name }, view.signal);
    if (report === null) throw new Error(t('nothing'));
    const { days: list, ...settings } = report;
    days.update(list.map((day) => ({ time: Date.parse(day.day), users: day.users })).sort((a, b) => a.time - b.time));
    const spans = await returning(view, name);
    put(back, view.rows(t('returning'), spans, ['days', 'returning', 'fresh', 'share'], { columns: { share: { cell: (row) => percent(row.share) } } }));
    put(about, facts(settings, ['kind', 'zone', 'keep_days', 'window_ms', 'assigned', 'assigned_bytes']));
  });
}

export default {
  name: 'online',
  needs: 'online/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'online', list: 'online/list' }) : showOne(view, view.path[0])),
};
