// The dashboard: its frame, the way from addresses to pages, keys, login, and the live state.
import { h, put } from './dom.js';
import { chooseLanguage, language, t } from './words.js';
import * as api from './api.js';
import { notice } from './widgets.js';
import { duration, refreshTimes, textOf } from './format.js';
import { remember } from './history.js';
import { pollSamples } from './polling.js';
import { View, setSample } from './view.js';

import overview from './pages/overview.js';
import queues from './pages/queues.js';
import workers from './pages/workers.js';
import locks from './pages/locks.js';
import limits from './pages/limits.js';
import counters from './pages/counters.js';
import stats from './pages/stats.js';
import logs from './pages/logs.js';
import online from './pages/online.js';
import sessions from './pages/sessions.js';
import search from './pages/search.js';
import chats from './pages/chats.js';
import mail from './pages/mail.js';
import files from './pages/files.js';
import ads from './pages/ads.js';
import services from './pages/services.js';
import config from './pages/config.js';
import places from './pages/places.js';
import server from './pages/server.js';

// A page is {name, needs, key?, show(view)}: its name in addresses and in the table of texts, the call
// without which it is not offered, the key that opens it after "g", and the function that fills a view.
const groups = [
  ['work', [overview, queues, workers]],
  ['holding', [locks, limits]],
  ['measuring', [counters, stats, logs, online, sessions]],
  ['data', [search, chats, mail, files, ads, places]],
  ['operating', [services, config, server]],
];
const pages = groups.flatMap(([, members]) => members);
const offered = (page) => api.may(page.needs);

// ---- The frame ------------------------------------------------------------------------------------

const main = h('main', { id: 'main', tabindex: '-1' });
const state = h('span', { class: 'state', role: 'status' });
const menu = h('nav', { class: 'menu', id: 'menu' });
let view = null;

function drawFrame() {
  document.documentElement.lang = language();
  menu.setAttribute('aria-label', t('pages'));
  put(menu, groups.map(([group, members]) => {
    const shown = members.filter(offered);
    return shown.length === 0 ? null : h('section', {}, h('h2', {}, t(group)), h('ul', {}, shown.map((page) =>
      h('li', {}, h('a', { href: '#/' + page.name, 'data-page': page.name }, t(page.name))))));
  }));
  put(document.body,
    h('a', { class: 'skip', href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); } }, t('skip')),
    h('header', {},
      h('button', { class: 'burger', type: 'button', 'aria-label': t('pages'), 'aria-controls': 'menu', onclick: () => document.body.classList.toggle('open') }, '☰'),
      h('a', { class: 'brand', href: '#/overview' }, 'tackle'),
      state,
      h('span', { class: 'space' }),
      canChange() ? null : h('span', { class: 'badge' }, t('read only')),
      api.me().name !== '-' ? h('span', { class: 'who' }, api.me().name) : null,
      h('button', { type: 'button', onclick: switchLanguage, lang: language() === 'en' ? 'zh' : 'en' }, language() === 'en' ? '中文' : 'English'),
      h('button', { type: 'button', onclick: switchTheme, 'aria-label': t('theme'), title: t('theme') }, '◐'),
      h('button', { type: 'button', onclick: showHelp, 'aria-label': t('help'), title: t('help') }, '?'),
      api.me().name !== '-' ? h('button', { type: 'button', onclick: logOut }, t('log out')) : null),
    menu, main);
}

const canChange = () => ['queue/pause', 'lock/break', 'config/set', 'counter/add'].some(api.may);

function switchLanguage() {
  chooseLanguage(language() === 'en' ? 'zh' : 'en');
  drawFrame();
  openPage();
}

function applyTheme() {
  const chosen = localStorage.getItem('tackle-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function switchTheme() {
  const isDark = getComputedStyle(document.documentElement).colorScheme.trim() === 'dark';
  localStorage.setItem('tackle-theme', isDark ? 'light' : 'dark');
  applyTheme();
}

// ---- Addresses: #/queues/mails?state=dead ---------------------------------------------------------

let shownPath = null;

async function openPage() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const page = pages.find((p) => p.name === name) ?? (offered(overview) ? overview : pages.find(offered));
  document.body.classList.remove('open');
  view?.close();
  put(main);
  if (!page) {
    put(main, h('p', { class: 'empty' }, t('no rights')));
    return;
  }
  for (const link of menu.querySelectorAll('a'))
    if (link.dataset.page === page.name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  const isElsewhere = shownPath !== null && shownPath !== path;
  shownPath = path;
  const mine = view = new View(main, page.name === name ? rest : [], new URLSearchParams(query));
  try {
    if (!offered(page)) throw new api.Refusal(403, { message: t('not permitted') });
    const shown = page.show(mine);
    if (isElsewhere) mine.heading?.focus({ preventScroll: true }); // so that readers hear where they are
    await shown;
  } catch (error) {
    if (!mine.signal.aborted) showFailure(mine, error);
  }
}

function showFailure(failed, error) {
  failed.show(failed.title(t('failed')), h('p', { class: 'problem', role: 'alert' }, error.message),
    h('p', {}, h('button', { type: 'button', onclick: openPage }, t('again'))));
}

// ---- Live -----------------------------------------------------------------------------------------

let heardAt = null, trouble = null, gap = null; // gap: masters that do not answer, as a text

function hear(event, data) {
  if (event === 'sample') {
    heardAt = Date.now();
    trouble = null;
    gap = data.missing?.length > 0 ? t('masters missing', data.missing.map(textOf).join(', ')) : data.warning ?? null;
    remember(data);
    setSample(data);
    view?.hear(data);
  } else {
    trouble = data.message;
  }
  showState();
}

// Says whether the numbers are live, or how old they are and why.
function showState() {
  const age = heardAt === null ? null : Date.now() - heardAt;
  const isLive = trouble === null && age !== null && age < 5000;
  state.className = 'state ' + (isLive ? 'live' : trouble ? 'bad' : 'waiting');
  const text = isLive ? t('live') : age === null ? t('connecting') : t('numbers old', duration(age));
  if (state.textContent !== text) put(state, text);
  state.title = trouble ?? '';
  showTrouble(trouble ? t('trouble', trouble) : gap);
}

// A line above all pages; null: there is none.
function showTrouble(text) {
  let line = document.querySelector('.trouble');
  if (text === null) line?.remove();
  else if (!line) document.querySelector('header')?.after(line = h('p', { class: 'trouble', role: 'alert' }));
  if (text !== null && line && line.textContent !== text) put(line, text);
}

// ---- Keys -----------------------------------------------------------------------------------------

let pressed = '';

function onKey(event) {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || document.querySelector('dialog[open]');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = pressed === 'g' ? pages.find((p) => p.key === event.key && offered(p)) : null;
  pressed = event.key;
  if (page) location.hash = '#/' + page.name;
  else if (event.key === '/') main.querySelector('input[type=search], input')?.focus();
  else if (event.key === '?') showHelp();
  else if (event.key === 'r') view?.refresh().catch((error) => notice(error.message, true));
  else return;
  event.preventDefault();
}

function showHelp() {
  const keys = [['/', t('key search')], ['r', t('key refresh')], ['?', t('help')],
    ...pages.filter((p) => p.key && offered(p)).map((p) => ['g ' + p.key, t(p.name)])];
  const dialog = h('dialog', { 'aria-label': t('help'), class: 'help' }, h('h2', {}, t('keys')),
    h('dl', {}, keys.map(([key, text]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)))),
    h('p', { class: 'quiet' }, 'tackle ' + api.me().version),
    h('p', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, t('close'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// ---- Login ----------------------------------------------------------------------------------------

let session = null; // aborted when the user leaves

function showLogin(text = '') {
  session?.abort();
  view?.close();
  document.documentElement.lang = language();
  const box = h('input', { type: 'password', id: 'token', autocomplete: 'current-password', required: true });
  put(document.body, h('main', { class: 'login' }, h('form', {
    onsubmit: (event) => {
      event.preventDefault();
      enter(box.value);
    },
  }, h('h1', {}, 'tackle'), h('label', { for: 'token' }, t('token')), box,
  h('p', { class: 'problem', role: 'alert' }, text),
  h('button', { type: 'submit', class: 'primary' }, t('log in')))));
  box.focus();
}

async function logOut() {
  try {
    await api.leave();
    showLogin();
  } catch (error) {
    notice(error.message, true);
  }
}

async function enter(token = undefined) {
  try {
    await api.enter(token);
  } catch (error) {
    if (error.status === 401) {
      showLogin(token === undefined ? '' : t('wrong token'));
    } else if (token !== undefined) {
      showLogin(error.message);
    } else {
      put(document.body, h('main', { class: 'login' }, h('p', { role: 'alert' }, t('trouble', error.message))));
      setTimeout(enter, 2000);
    }
    return;
  }
  session = new AbortController();
  drawFrame();
  (api.may('status') ? api.followSamples : pollSamples)(session.signal, hear);
  openPage();
}

applyTheme();
addEventListener('hashchange', openPage);
addEventListener('keydown', onKey);
addEventListener('tackle-login', () => showLogin(t('session ended')));
setInterval(() => {
  showState();
  refreshTimes();
}, 1000);
enter();
