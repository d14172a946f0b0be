// The server behind it all: its memory, files, functions and connections.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, may, me } from '../api.js';
import { bytes, count, nameNode, percent, rate } from '../format.js';
import { bar, button, card, empty, facts, notice, table } from '../widgets.js';
import { allPoints } from '../history.js';
import { BINARY, plot } from '../plot.js';

const CLIENTS = 200;
const PERSISTENCE = ['saved_at', 'last_save', 'unsaved_changes', 'saving', 'aof', 'aof_bytes', 'last_aof'];

// Memory by component. It asks for thousands of keys, so it waits for a click.
function memoryCard(view) {
  const said = h('p', { class: 'quiet' }, t('about memory')), parts = table({
    title: t('memory by component'), id: (row) => row.component, sort: 'bytes',
    columns: [
      { key: 'component', cell: (row) => row.component ?? t('other keys') }, { key: 'key_count', number: true },
      { key: 'bytes', number: true, cell: (row) => [bytes(row.bytes), ' ', bar(row.share)], said: (row) => [row.bytes, row.share] },
    ],
  });
  parts.element.hidden = true;
  const estimate = async () => {
    try {
      const memory = await call('server/memory', {}, view.signal), all = memory.components.reduce((sum, part) => sum + part.bytes, 0);
      parts.update(memory.components.map((part) => ({ ...part, share: part.bytes / Math.max(all, 1) })));
      parts.element.hidden = false;
      put(said, t(memory.exact ? 'all keys counted' : 'keys sampled', count(memory.measured), count(memory.key_count)));
    } catch (error) {
      if (error.name !== 'AbortError') notice(error.message, true);
    }
  };
  return card(t('memory by component'), said, h('p', { class: 'buttons' }, button(t('estimate'), 'server/memory', estimate)), parts.element);
}

async function showClients(view, root) {
  const said = h('p', { class: 'quiet' }), clients = table({
    title: t('clients'), id: (row) => row.id, sort: 'idle_ms',
    columns: [
      { key: 'name', cell: (row) => (row.name === null ? '–' : nameNode(row.name)), searched: true }, { key: 'address', searched: true },
      { key: 'user', searched: true }, { key: 'kind', title: t('connection'), cell: (row) => t('client ' + row.kind) }, { key: 'command', title: t('last command'), searched: true },
      { key: 'age_ms', number: true }, { key: 'idle_ms', number: true }, { key: 'memory', number: true },
    ],
  });
  put(root, said, view.filterBox(clients), clients.element);
  await view.every(10000, async () => {
    const found = await call('server/clients', { max: CLIENTS }, view.signal);
    clients.update(found.connections);
    put(said, t('clients of', count(found.connected), count(found.most), count(found.blocked)),
      found.connections.length < found.connected ? [' ', t('clients listed', count(found.connections.length))] : null);
  });
}

async function showFunctions(view, root) {
  await view.every(30000, async () => {
    const libraries = await call('server/functions', {}, view.signal);
    put(root, libraries.length === 0 ? empty(t('nothing')) : view.rows(t('functions'), libraries, ['name', 'version', 'current', 'functions', 'bytes', 'servers']));
  });
}

// Fills a card. A card that may not be read says why, and the others go on.
async function fill(root, show) {
  try {
    await show(root);
  } catch (error) {
    if (error.name !== 'AbortError') put(root, empty(error.message));
  }
}

export default {
  name: 'server',
  needs: 'status',
  async show(view) {
    const about = h('div'), disk = h('div'), clients = h('div'), functions = h('div');
    const memory = plot({ title: t('memory'), format: bytes, steps: BINARY, lines: [{ key: 'memory', name: t('used') }] });
    const commands = plot({ title: t('commands'), format: rate, lines: [{ key: 'commands', name: t('a second') }] });
    view.show(view.title(t('server')), card(null, about), h('div', { class: 'plots' }, memory.element, commands.element),
      card(t('persistence'), disk), may('server/memory') ? memoryCard(view) : null,
      may('server/clients') ? card(t('clients'), clients) : null, may('server/functions') ? card(t('functions'), functions) : null,
      h('p', { class: 'quiet' }, 'tackle ' + me().version));
    view.onSample(({ server }) => {
      put(about, server.error ? h('p', { class: 'problem' }, server.message) : [
        server.memory_max ? h('p', {}, t('memory'), ' ', percent(server.memory / server.memory_max), ' ', bar(server.memory / server.memory_max)) : null,
        facts(server, Object.keys(server).filter((key) => !PERSISTENCE.includes(key)))]);
      put(disk, server.error ? null : facts(server, PERSISTENCE.filter((key) => server.aof || !['aof_bytes', 'last_aof'].includes(key))));
      memory.update(allPoints());
      commands.update(allPoints());
    });
    await Promise.all([
      may('server/clients') ? fill(clients, (root) => showClients(view, root)) : null,
      may('server/functions') ? fill(functions, (root) => showFunctions(view, root)) : null,
    ]);
  },
};
