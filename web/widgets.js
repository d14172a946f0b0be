// Tables, lists of facts, questions and notices: the parts of all pages.
import { h, put } from './dom.js';
import { label, t } from './words.js';
import * as format from './format.js';
import { call, may } from './api.js';

const ROWS = 100;

// ---- Values ---------------------------------------------------------------------------------------

// How a value is shown, by the name of its field in the JSON of the command.
export function valueNode(key, value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (typeof value === 'number') {
    if (key.endsWith('_ms')) return format.duration(value);
    if (/(^|_)(bytes|memory|memory_max|size)$/.test(key)) return format.bytes(value);
    if (/^(fence|term|id|last_id|acked_id|version|pid)$/.test(key)) return String(value);
    return Number.isInteger(value) ? format.count(value) : format.decimal(value);
  }
  if (typeof value === 'string' && /(_at|^at|^time|^since|^until|^hour)$/.test(key) && !isNaN(Date.parse(value)))
    return format.timeNode(value);
  if (Array.isArray(value))
    return h('span', {}, value.length === 0 ? '–' : value.map((item, i) => [i > 0 ? ', ' : null, valueNode('', item)]));
  if (typeof value === 'object' && !('base64' in value)) {
    const pairs = Object.entries(value).map(([name, one]) => `${name}=${format.textOf(one)}`);
    return pairs.length === 0 ? '–' : format.nameNode(pairs.join(', '));
  }
  return format.nameNode(value);
}

const isNumber = (value) => typeof value === 'number';

// ---- Facts ----------------------------------------------------------------------------------------

// An object as a list of names and values; `keys` chooses which, and their order.
export function facts(object, keys = Object.keys(object)) {
  return h('dl', { class: 'facts' }, keys.filter((key) => key in object).map((key) =>
    h('div', {}, h('dt', {}, label(key)), h('dd', {}, valueNode(key, object[key])))));
}

export function card(title, ...children) {
  return h('section', { class: 'card' }, title ? h('h2', {}, title) : null, children);
}

export function empty(text) {
  return h('p', { class: 'empty' }, text);
}

// ---- Tables ---------------------------------------------------------------------------------------

// table({title, columns, id, actions, none}): `element`, and update(rows). A column is
// {key, title?, cell?, number?, sort?}; `cell(row)` makes what is shown. Rows with the same id(row)
// keep their elements, so that focus stays where it is while numbers change. At most 100 rows are
// shown until the user asks for more.
export function table({ title, columns, id = (row) => JSON.stringify(row.name), actions = null, none = t('nothing'), sort = null }) {
  const body = h('tbody'), note = h('p', { class: 'more' }), kept = new Map();
  let rows = [], by = sort, down = columns.some((column) => column.key === sort && column.number), most = ROWS, wanted = '';

  const heads = columns.map((column) => h('th', { scope: 'col', class: column.number ? 'number' : null },
    h('button', { class: 'sort', type: 'button', onclick: () => sortBy(column.key) }, column.title ?? label(column.key))));
  const grid = h('table', {}, h('caption', { class: 'unseen' }, title ?? ''),
    h('thead', {}, h('tr', {}, heads, actions ? h('th', { scope: 'col', class: 'unseen-head' }, h('span', { class: 'unseen' }, t('actions'))) : null)), body);
  const element = h('div', { class: 'table' }, h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': title ?? null }, grid), note);

  function sortBy(key) {
    if (by === key) down = !down;
    else [by, down] = [key, columns.some((column) => column.key === key && column.number)];
    show();
  }

  function rowElement(row) {
    const key = id(row);
    let entry = kept.get(key);
    if (!entry) {
      entry = { row, cells: columns.map((column) => h('td', { class: column.number ? 'number' : null })), said: [] };
      const extra = actions ? h('td', { class: 'acts' }) : null;
      entry.element = h('tr', {}, entry.cells, extra);
      entry.extra = extra;
      kept.set(key, entry);
    }
    entry.row = row;
    columns.forEach((column, i) => {
      const said = JSON.stringify(column.said ? column.said(row) : row[column.key] ?? null);
      if (said === entry.said[i]) return;
      entry.said[i] = said;
      put(entry.cells[i], column.cell ? column.cell(row) : valueNode(column.key, row[column.key]));
    });
    if (entry.extra) {
      const wantedActs = actions(row, () => entry.row), said = wantedActs.map((act) => act?.dataset.act).join();
      if (said !== entry.acts) {
        entry.acts = said;
        put(entry.extra, wantedActs);
      }
    }
    return entry.element;
  }

  function ordered() {
    const found = wanted === '' ? rows : rows.filter((row) =>
      format.textOf(row[columns[0].key]).toLowerCase().includes(wanted) ||
      columns.some((column) => column.searched && format.textOf(row[column.key]).toLowerCase().includes(wanted)));
    if (by === null) return found;
    const sign = down ? -1 : 1;
    const isText = found.some((row) => typeof row[by] === 'string');
    return [...found].sort((a, b) => sign * (isText
      ? format.textOf(a[by]).localeCompare(format.textOf(b[by]))
      : (a[by] ?? -1) - (b[by] ?? -1)));
  }

  function show() {
    const all = ordered(), shown = all.slice(0, most), ids = new Set(shown.map(id));
    for (const key of kept.keys()) if (!ids.has(key)) kept.delete(key);
    put(body, shown.map(rowElement));
    grid.hidden = all.length === 0;
    heads.forEach((head, i) => head.setAttribute('aria-sort', columns[i].key !== by ? 'none' : down ? 'descending' : 'ascending'));
    put(note, all.length === 0 ? h('span', { class: 'empty' }, wanted && rows.length > 0 ? t('no match') : none)
      : all.length > most ? [t('first of', format.count(most), format.count(all.length)), ' ',
        h('button', { type: 'button', onclick: () => { most += ROWS; show(); } }, t('more'))] : null);
  }

  return {
    element,
    update(fresh) {
      rows = fresh;
      show();
    },
    filter(text) {
      wanted = text.toLowerCase();
      show();
    },
  };
}

// A table of an array of objects as the command prints them: a column for each of the keys.
export function rowsTable(title, rows, keys, more = {}) {
  const columns = keys.map((key) => ({ key, number: rows.some((row) => isNumber(row[key])), ...(more.columns?.[key] ?? {}) }));
  const ids = new Map(); // a row is the one with the same first value as before
  const made = table({ title, id: (row) => ids.get(row), ...more, columns });
  return {
    element: made.element,
    update(fresh) {
      const times = new Map();
      ids.clear();
      for (const row of fresh) {
        const first = JSON.stringify(row[keys[0]]), nth = times.get(first) ?? 0;
        times.set(first, nth + 1);
        ids.set(row, first + nth);
      }
      made.update(fresh);
    },
  };
}

// ---- Buttons and questions ------------------------------------------------------------------------

// A button for a verb; null when the caller may not call it. data-act identifies it in the page.
export function button(text, verb, onclick, { danger = false } = {}) {
  if (!may(verb)) return null;
  return h('button', { type: 'button', class: danger ? 'danger' : null, 'data-act': verb + ' ' + text, onclick }, text);
}

// Asks before something is destroyed, or for a few values. Resolves to the values by their names,
// {} without fields, null when the user cancelled.
export function question({ title, text = null, fields = [], yes = t('ok'), danger = false }) {
  return new Promise((resolve) => {
    const inputs = fields.map((field) => {
      const attributes = { name: field.name, id: 'field-' + field.name, required: field.required, placeholder: field.hint };
      return field.rows ? h('textarea', { ...attributes, rows: field.rows, value: field.value ?? '' })
        : h('input', { ...attributes, type: field.type ?? 'text', value: field.value ?? '', autocomplete: 'off' });
    });
    const form = h('form', { method: 'dialog' }, h('h2', {}, title), text ? h('p', {}, text) : null,
      fields.map((field, i) => h('p', { class: 'field' }, h('label', { for: 'field-' + field.name }, field.label), inputs[i])),
      h('p', { class: 'buttons' },
        h('button', { type: 'button', onclick: () => dialog.close() }, t('cancel')),
        h('button', { type: 'submit', class: danger ? 'danger' : 'primary', value: 'yes' }, yes)));
    const dialog = h('dialog', { 'aria-label': title }, form);
    let answer = null;
    form.addEventListener('submit', (event) => {
      event.preventDefault(); // the policy forbids forms to be sent anywhere
      answer = Object.fromEntries(inputs.map((input) => [input.name, input.value]));
      dialog.close();
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const notices = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' });

export function notice(text, bad = false) {
  if (!notices.isConnected) document.body.append(notices);
  const line = h('p', { class: bad ? 'bad' : null }, text);
  notices.append(line);
  setTimeout(() => line.remove(), bad ? 10000 : 4000);
}

// Runs a verb and shows how it ended; true when it has succeeded. `asks` is the question before a verb
// that destroys something.
export async function act(verb, fields, { asks = null, done = t('done'), then = null } = {}) {
  if (asks !== null && (await question({ danger: true, ...asks })) === null) return false;
  try {
    const answer = await call(verb, fields);
    notice(typeof done === 'function' ? done(answer) : done);
    if (then) await then(answer);
    return true;
  } catch (error) {
    notice(error.message, true);
    return false;
  }
}

// ---- Small parts ----------------------------------------------------------------------------------

// Links to the parts of a page, one of which is shown.
export function tabs(items, chosen) {
  return h('nav', { class: 'tabs', 'aria-label': t('parts') }, items.map((item) =>
    h('a', { href: item.href, 'aria-current': item.key === chosen ? 'page' : null }, item.text,
      item.count === undefined ? null : h('span', { class: 'count' }, format.count(item.count)))));
}

// A line of fields with a button: look-ups.
export function ask({ fields, text, then }) {
  const inputs = fields.map((field) => h('input', {
    name: field.name, value: field.value ?? '',
    required: field.required ?? true, autocomplete: 'off', type: field.type ?? 'text', step: field.type === 'number' ? 'any' : null,
  }));
  return h('form', {
    class: 'ask', onsubmit: (event) => {
      event.preventDefault();
      then(Object.fromEntries(inputs.map((input) => [input.name, input.value])));
    },
  }, fields.map((field, i) => h('label', {}, h('span', {}, field.label), inputs[i])), h('button', { type: 'submit' }, text));
}

// A share of a whole as a bar.
export function bar(share) {
  return h('meter', { min: 0, max: 1, value: String(Math.min(share, 1)), title: format.percent(share) });
}
