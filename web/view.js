// A view: a page on the screen, until another one is opened.
import { h, put } from './dom.js';
import { t } from './words.js';
import { nameFromPath } from './format.js';
import { rowsTable } from './widgets.js';

let sample = null; // the latest one

export const latest = () => sample;

export class View {
  constructor(root, path, params) {
    this.root = root;
    this.path = path.map(nameFromPath); // after the page's own name
    this.params = params;
    this.leaving = new AbortController();
    this.listeners = [];
    this.refreshers = [];
    this.tables = new Map(); // by their titles
    this.said = new Map();
    this.note = h('p', { class: 'problem', role: 'alert' });
  }

  get signal() {
    return this.leaving.signal;
  }

  close() {
    this.leaving.abort();
  }

  title(...parts) {
    this.heading ??= h('h1', { tabindex: '-1' });
    put(this.heading, parts);
    document.title = this.heading.textContent + ' – tackle';
    return this.heading;
  }

  show(...children) {
    put(this.root, this.note, children);
  }

  // A table of objects that is made once, and keeps its order and focus when it is shown again.
  rows(title, rows, keys, more = {}) {
    if (!this.tables.has(title)) this.tables.set(title, rowsTable(title, rows, keys, more));
    const made = this.tables.get(title);
    made.update(rows);
    return made.element;
  }

  // Whether a value differs from last time, so that the elements that show it must be made again.
  changed(key, value) {
    const text = JSON.stringify(value);
    if (this.said.get(key) === text) return false;
    this.said.set(key, text);
    return true;
  }

  // Calls `hear` with each sample, and at once with the last one.
  onSample(hear) {
    this.listeners.push(hear);
    if (sample) hear(sample);
  }

  hear(fresh) {
    for (const hear of this.listeners) hear(fresh);
  }

  // Runs `load` now, every `ms` milliseconds while the page is visible, and after refresh(). A failure
  // of the first run is thrown; after a later failure a note says so, until a run succeeds.
  async every(ms, load) {
    const again = async () => {
      if (this.signal.aborted) return;
      try {
        if (!document.hidden) {
          await load();
          put(this.note);
        }
      } catch (error) {
        if (!this.signal.aborted) put(this.note, error.message);
      }
      setTimeout(again, ms);
    };
    this.refreshers.push(load);
    await load();
    setTimeout(again, ms);
  }

  async refresh() {
    for (const load of this.refreshers) if (!this.signal.aborted) await load();
  }

  // Changes a parameter of the address, so that a link keeps it.
  setParam(name, value) {
    if (value) this.params.set(name, value);
    else this.params.delete(name);
    const query = this.params.toString(), path = location.hash.split('?')[0];
    history.replaceState(null, '', path + (query ? '?' + query : ''));
  }

  // A box that filters a table, with its text in the address.
  filterBox(table) {
    const box = h('input', {
      type: 'search', class: 'filter', placeholder: t('filter'), 'aria-label': t('filter'), value: this.params.get('q') ?? '',
      oninput: () => {
        this.setParam('q', box.value);
        table.filter(box.value);
      },
    });
    table.filter(box.value);
    return box;
  }
}

export function setSample(fresh) {
  sample = fresh;
}
