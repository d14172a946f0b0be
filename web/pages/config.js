// Configuration: values with their history, and the switch for maintenance.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, callOrNull, me } from '../api.js';
import { nameNode, nameToPath, textOf, timeNode, visible } from '../format.js';
import { act, button, card, empty, notice, question, table } from '../widgets.js';
import { crumbs } from './names.js';

const lines = (value) => visible(JSON.stringify(value, null, 2));

// The switch that programs ask before they work.
async function showMaintenance(view, root) {
  await view.every(5000, async () => {
    const status = await callOrNull('maintenance/status', {}, view.signal);
    if (!view.changed('maintenance', status)) return;
    put(root, h('p', {}, status.on ? [h('span', { class: 'badge bad' }, t('maintenance on')), ' ', status.reason ? nameNode(status.reason) : null, ' ', timeNode(status.since)]
      : t('maintenance off')),
    status.on ? button(t('switch off'), 'maintenance/off', () => act('maintenance/off', {}, { then: () => view.refresh() }))
      : button(t('switch on'), 'maintenance/on', async () => {
        const values = await question({ title: t('maintenance'), text: t('ask maintenance'), yes: t('switch on'), danger: true, fields: [{ name: 'reason', label: t('reason') }] });
        if (values) await act('maintenance/on', values.reason ? { reason: values.reason } : {}, { then: () => view.refresh() });
      }));
  });
}

async function showAll(view) {
  const all = table({
    title: t('config'), id: (row) => JSON.stringify([row.kind, row.component]), sort: 'kind', none: t('none of config'),
    columns: [{ key: 'kind' }, { key: 'component', searched: true, cell: (row) => h('a', { href: `#/config/${nameToPath(row.kind)}/${nameToPath(row.component)}` }, nameNode(row.component)) }],
  });
  const maintenance = h('div');
  view.show(view.title(t('config')), card(t('maintenance'), maintenance), h('section', { class: 'card' }, view.filterBox(all), all.element));
  await Promise.all([showMaintenance(view, maintenance), view.every(10000, async () => all.update(await call('config/list', {}, view.signal)))]);
}

// Edits a value. It does not overwrite a value that another user has changed meanwhile.
async function editValue(view, kind, component) {
  const current = await call('config/get', { kind, component }, view.signal);
  const values = await question({ title: t('edit'), yes: t('save'), fields: [{ name: 'json', label: 'JSON', rows: 14, value: JSON.stringify(current.value, null, 2), required: true }] });
  if (values === null) return;
  await act('config/set', {
    kind: current.kind, component: current.component, json: values.json, 'if-version': current.version,
    ...(me().name !== '-' ? { author: me().name } : {}),
  }, { done: (answer) => t('saved as', String(answer.version)), then: () => view.refresh() });
}

async function showOne(view, kind, component) {
  const now = h('div'), past = h('div');
  view.show(crumbs(view, 'config', kind, component), card(t('value'), now, h('p', { class: 'buttons' },
    button(t('edit'), 'config/set', () => editValue(view, kind, component).catch((error) => notice(error.message, true))),
    button(t('drop'), 'config/drop', () => act('config/drop', { kind, component, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop', textOf(kind) + ' ' + textOf(component)), yes: t('drop') }, then: () => { location.hash = '#/config'; },
    }), { danger: true }))), card(t('history'), past));
  await view.every(5000, async () => {
    const current = await call('config/get', { kind, component }, view.signal);
    if (view.changed('value', current)) put(now, h('p', { class: 'quiet' }, t('version', String(current.version)), ' · ', current.author ? [nameNode(current.author), ' · '] : null, timeNode(current.changed_at)),
      h('pre', { tabindex: '0' }, lines(current.value)));
    const versions = await call('config/history', { kind, component, max: 20 }, view.signal);
    if (view.changed('history', versions)) put(past, versions.length === 0 ? empty(t('nothing')) : versions.map((one) => h('details', {}, h('summary', {}, t('version', String(one.version)), ' · ',
      one.author ? [nameNode(one.author), ' · '] : null, timeNode(one.changed_at)), h('pre', { tabindex: '0' }, lines(one.value)))));
  });
}

export default {
  name: 'config',
  needs: 'config/list',
  show: (view) => (view.path[1] === undefined ? showAll(view) : showOne(view, view.path[0], view.path[1])),
};
