// Search: an index, and a box that searches while the user types.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, may } from '../api.js';
import { count, duration, nameNode, textOf, visible } from '../format.js';
import { act, button, card, empty, facts } from '../widgets.js';
import { crumbs, showNames } from './names.js';

const SIZE = 20, PAUSE_MS = 200;
// Marks around matches that no text contains by accident: characters for private use.
const BEFORE = '\ue000', AFTER = '\ue001';

// A text with its matches marked.
function marked(text) {
  return text.split(BEFORE).map((piece, i) => {
    if (i === 0) return visible(piece);
    const [match, rest = ''] = piece.split(AFTER);
    return [h('mark', {}, visible(match)), visible(rest)];
  });
}

// Why a document is found at this place: the parts of the query and what each contributes.
async function explainHit(view, index, query, id, root) {
  try {
    const why = await call('search/explain', { index, query, id }, view.signal);
    const words = why.parts.flatMap((part) => part.words.map((word) => ({ part: part.text, ...word })));
    put(root, facts(why, ['score', 'length', 'average_length', 'total']), view.rows('why ' + textOf(id), words, ['part', 'text', 'documents', 'times', 'score']));
  } catch (error) {
    put(root, empty(error.message));
  }
}

function hitNode(view, index, query, hit) {
  const { fields = {}, highlights = {}, text } = hit, why = h('div');
  return h('li', {}, h('h3', {}, nameNode(hit.id), hit.score !== undefined ? h('span', { class: 'quiet' }, ' ' + t('score', hit.score.toFixed(3))) : null, ' ',
    may('search/explain') ? h('button', { type: 'button', class: 'small', onclick: () => explainHit(view, index, query, hit.id, why) }, t('why this hit')) : null),
    highlights.text || text ? h('p', {}, marked(textOf(highlights.text ?? text))) : null,
    h('dl', { class: 'facts' }, Object.entries(fields).map(([key, value]) =>
      h('div', {}, h('dt', {}, nameNode(key)), h('dd', {}, marked(textOf(highlights[key] ?? value)))))), why);
}

// A value narrows the query: `field:"value"`.
function facetNode(name, facet, narrow) {
  return h('section', { class: 'facet' }, h('h3', {}, nameNode(name)), h('ul', { class: 'plain' }, facet.counts.map((one) =>
    h('li', {}, h('button', { type: 'button', class: 'small', onclick: () => narrow(`${name}:"${textOf(one.value).replaceAll('"', '\\"')}"`) }, nameNode(one.value)),
      ' ', h('span', { class: 'count' }, count(one.count))))));
}

// The words that begin with the last word of a query, as they stand in the documents that it finds.
function wordsLike(query, answer) {
  const last = /[\p{L}\p{N}]+$/u.exec(query)?.[0].toLowerCase() ?? '', found = new Set();
  for (const hit of answer.hits ?? [])
    for (const text of Object.values(hit.highlights ?? {}))
      for (const piece of textOf(text).split(BEFORE).slice(1)) found.add(piece.split(AFTER)[0].toLowerCase());
  return [...found].filter((word) => word.startsWith(last) && word !== last).slice(0, 8)
    .map((word) => query.slice(0, query.length - last.length) + word);
}

async function showIndex(view, index) {
  const info = await call('search/info', { index }, view.signal);
  const facetFields = Object.keys(info.fields).filter((field) => info.fields[field] === 'text').slice(0, 5);
  const found = h('div', { 'aria-live': 'polite' }), suggestions = h('p', { class: 'buttons suggestions', 'aria-label': t('suggestions') });
  let asked = 0;
  const search = async () => {
    const query = view.params.get('query') ?? '', turn = ++asked;
    if (query.trim() === '') {
      put(found);
      put(suggestions);
      return;
    }
    try {
      const answer = await call('search/query', {
        index, query, size: SIZE, show: 'all', marks: BEFORE + ',' + AFTER, page: Number(view.params.get('page') ?? 1),
        ...(facetFields.length > 0 ? { facets: facetFields.join(',') } : {}),
      }, view.signal);
      if (turn === asked) showAnswer(query, answer);
      await suggest(query, turn);
    } catch (error) {
      if (turn === asked && error.name !== 'AbortError') put(found, empty(error.message));
    }
  };
  // Shows how the last word may go on, by a query for all words that begin like it.
  const suggest = async (query, turn) => {
    if (!/[\p{L}\p{N}]$/u.test(query)) return;
    const answer = await call('search/query', { index, query: query + '*', size: SIZE, show: 'all', marks: BEFORE + ',' + AFTER }, view.signal).catch(() => ({}));
    if (turn === asked) put(suggestions, wordsLike(query, answer).map((text) =>
      h('button', { type: 'button', class: 'small', onclick: () => ask(text) }, visible(text))));
  };
  const turnTo = (page) => () => {
    view.setParam('page', page > 1 ? String(page) : '');
    search();
  };
  const showAnswer = (query, answer) => {
    const page = Number(view.params.get('page') ?? 1);
    put(found, h('p', { class: 'quiet' }, t('hits', count(answer.total), duration(answer.took_us / 1000)),
      answer.why ? ' · ' + visible(textOf(answer.why)) : answer.nearest ? [' · ', t('nearest'), ' ', nameNode(answer.nearest)] : null),
    h('div', { class: 'hits' }, h('ol', { class: 'plain' }, (answer.hits ?? []).map((hit) => hitNode(view, index, query, hit))),
      h('aside', {}, Object.entries(answer.facets ?? {}).filter(([, facet]) => facet.counts.length > 0).map(([name, facet]) => facetNode(name, facet, (more) => ask(`${query.trim()} ${more}`))))),
    h('p', { class: 'pager' }, page > 1 ? h('button', { type: 'button', onclick: turnTo(page - 1) }, t('earlier')) : null, ' ',
      page * SIZE < answer.total ? h('button', { type: 'button', onclick: turnTo(page + 1) }, t('later')) : null));
  };
  let timer = null;
  const box = h('input', {
    type: 'search', class: 'wide', 'aria-label': t('search'), placeholder: t('search in'), value: view.params.get('query') ?? '',
    oninput: () => {
      view.setParam('query', box.value);
      view.setParam('page', '');
      clearTimeout(timer);
      timer = setTimeout(search, PAUSE_MS);
    },
  });
  const ask = (query) => {
    box.value = query;
    box.dispatchEvent(new Event('input'));
    box.focus();
  };
  view.show(crumbs(view, 'search', index), card(null, box, suggestions, found),
    card(t('index'), facts({ ...info, fields: Object.entries(info.fields).map(([name, kind]) => `${name}: ${kind}`) })),
    h('p', { class: 'buttons' }, button(t('drop'), 'search/drop', () => act('search/drop', { index, yes: true }, {
      asks: { title: t('drop'), text: t('ask drop index', textOf(index), count(info.documents)), yes: t('drop') }, then: () => { location.hash = '#/search'; },
    }), { danger: true })));
  await search();
}

export default {
  name: 'search',
  needs: 'search/list',
  key: 's',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'search', list: 'search/list', key: 'index' }) : showIndex(view, view.path[0])),
};
