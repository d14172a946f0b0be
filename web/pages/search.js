// Search: an index, and a box that searches while somebody types.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
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

function hitNode(hit) {
  const { fields = {}, highlights = {}, text } = hit;
  return h('li', {}, h('h3', {}, nameNode(hit.id), hit.score !== undefined ? h('span', { class: 'quiet' }, ' ' + t('score', hit.score.toFixed(3))) : null),
    highlights.text || text ? h('p', {}, marked(textOf(highlights.text ?? text))) : null,
    h('dl', { class: 'facts' }, Object.entries(fields).map(([key, value]) =>
      h('div', {}, h('dt', {}, nameNode(key)), h('dd', {}, marked(textOf(highlights[key] ?? value)))))));
}

function facetNode(name, facet) {
  return h('section', { class: 'facet' }, h('h3', {}, nameNode(name)), h('ul', { class: 'plain' }, facet.counts.map((one) =>
    h('li', {}, nameNode(one.value), ' ', h('span', { class: 'count' }, count(one.count))))));
}

async function showIndex(view, index) {
  const info = await call('search/info', { index }, view.signal);
  const facetFields = Object.keys(info.fields).filter((field) => info.fields[field] === 'text').slice(0, 5);
  const found = h('div', { 'aria-live': 'polite' });
  let asked = 0;
  const search = async () => {
    const query = view.params.get('query') ?? '', turn = ++asked;
    if (query.trim() === '') {
      put(found);
      return;
    }
    try {
      const answer = await call('search/query', {
        index, query, size: SIZE, show: 'all', marks: BEFORE + ',' + AFTER, page: Number(view.params.get('page') ?? 1),
        ...(facetFields.length > 0 ? { facets: facetFields.join(',') } : {}),
      }, view.signal);
      if (turn === asked) showAnswer(answer);
    } catch (error) {
      if (turn === asked && error.name !== 'AbortError') put(found, empty(error.message));
    }
  };
  const turnTo = (page) => () => {
    view.setParam('page', page > 1 ? String(page) : '');
    search();
  };
  const showAnswer = (answer) => {
    const page = Number(view.params.get('page') ?? 1);
    put(found, h('p', { class: 'quiet' }, t('hits', count(answer.total), duration(answer.took_us / 1000)),
      answer.why ? ' · ' + visible(textOf(answer.why)) : null, answer.nearest ? [' · ', t('nearest'), ' ', nameNode(answer.nearest)] : null),
    h('div', { class: 'hits' }, h('ol', { class: 'plain' }, (answer.hits ?? []).map(hitNode)),
      h('aside', {}, Object.entries(answer.facets ?? {}).map(([name, facet]) => facetNode(name, facet)))),
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
  view.show(crumbs(view, 'search', index), card(null, box, found),
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
