// Logs: the last messages as they come, and the most common ones of this hour and the last.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { callOrNull } from '../api.js';
import { nameNode, nameToPath, textOf, timeNode } from '../format.js';
import { act, button, card, empty, table, tabs } from '../widgets.js';
import { crumbs, showNames } from './names.js';

const SEVERITIES = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'];
const badge = (row) => h('span', { class: 'badge severity-' + row.severity }, t('severity ' + row.severity));

async function showRecent(view, root, name, severity) {
  const recent = table({
    title: t('recent'), id: (row) => row.key, none: t('nothing'),
    columns: [
      { key: 'message', searched: true, cell: (row) => nameNode(row.message) },
      { key: 'severity', searched: true, cell: badge },
      { key: 'time', cell: (row) => timeNode(row.time) },
    ],
  });
  put(root, h('div', { class: 'row' }, view.filterBox(recent)), recent.element);
  await view.every(2000, async () => {
    const rows = await callOrNull('log/recent', { name, severity, count: 100 }, view.signal) ?? [];
    const seen = new Map();
    recent.update(rows.map((row) => {
      const said = row.time + row.severity + textOf(row.message), times = seen.get(said) ?? 0;
      seen.set(said, times + 1);
      return { ...row, key: said + times };
    }).reverse());
  });
}

async function showCommon(view, root, name, severity) {
  await view.every(5000, async () => {
    const hours = await Promise.all([{}, { last: true }].map((hour) => callOrNull('log/common', { name, severity, ...hour }, view.signal)));
    put(root, hours.map((hour, i) => [h('h2', {}, t(i === 0 ? 'this hour' : 'last hour')), !hour || hour.messages.length === 0 ? empty(t('nothing'))
      : view.rows(t(i === 0 ? 'this hour' : 'last hour'), hour.messages, ['times', 'severity', 'message'], { columns: { severity: { cell: badge } } })]));
  });
}

async function showLog(view, name) {
  const severity = view.params.get('severity') ?? undefined, part = view.params.get('part') ?? 'recent';
  const href = (changes) => `#/logs/${nameToPath(name)}?` + new URLSearchParams(Object.entries({ part, severity, ...changes }).filter(([, value]) => value));
  const root = h('div');
  const choice = h('select', { 'aria-label': t('severity'), onchange: () => { location.hash = href({ severity: choice.value }); } },
    h('option', { value: '' }, t('all severities')), SEVERITIES.map((one) => h('option', { value: one, selected: one === severity }, t('severity ' + one))));
  view.show(crumbs(view, 'logs', name), h('div', { class: 'row' }, tabs(['recent', 'common'].map((key) => ({ key, text: t(key), href: href({ part: key }) })), part), choice),
    card(null, root), h('p', { class: 'buttons' }, button(t('drop'), 'log/drop', () => act('log/drop', { name, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(name)), yes: t('drop') }, then: () => { location.hash = '#/logs'; },
    }), { danger: true })));
  await (part === 'common' ? showCommon : showRecent)(view, root, name, severity);
}

export default {
  name: 'logs',
  needs: 'log/list',
  key: 'e',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'logs', list: 'log/list' }) : showLog(view, view.path[0])),
};
