// Ads: their earnings, and why one is shown or not.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { call, callOrNull } from '../api.js';
import { nameNode, nameToPath, percent, textOf } from '../format.js';
import { act, ask, button, card, empty, facts, table } from '../widgets.js';
import { crumbs, showNames } from './names.js';

const number = (key) => ({ key, number: true });

async function showSet(view, set) {
  const about = h('div');
  const report = table({
    title: t('report'), id: (row) => JSON.stringify(row.ad), sort: 'ecpm', none: t('nothing'),
    columns: [{ key: 'ad', cell: (row) => h('a', { href: `#/ads/${nameToPath(set)}/${nameToPath(row.ad)}` }, nameNode(row.ad)) },
      { key: 'type' }, number('price'), number('views'), number('clicks'), number('actions'),
      { key: 'click_rate', number: true, cell: (row) => percent(row.click_rate) }, number('spent'), number('ecpm')],
  });
  view.show(crumbs(view, 'ads', set), card(null, about), card(t('report'), view.filterBox(report), report.element));
  await view.every(10000, async () => {
    const stats = await callOrNull('ads/stats', { set }, view.signal);
    put(about, stats ? facts(stats) : empty(t('nothing')));
    report.update(await call('ads/report', { set, best: 100 }, view.signal));
  });
}

// Asks why the ad would be shown to a viewer, or not.
function explainForm(view, set, ad) {
  const answer = h('div');
  return [ask({
    fields: [{ name: 'text', label: t('page text') }, { name: 'location', label: t('location') }], text: t('why this ad'),
    then: async (values) => {
      try {
        const { why, ...rest } = await call('ads/explain', { set, ad, ...values }, view.signal);
        const { words = [], ...score } = why ?? {};
        put(answer, facts(rest), why ? facts(score) : null, words.length > 0 ? view.rows(t('why this ad'), words, ['word', 'bonus']) : null);
      } catch (error) {
        put(answer, empty(error.message));
      }
    },
  }), answer];
}

async function showAd(view, set, ad) {
  const about = h('div'), words = h('div');
  view.show(crumbs(view, 'ads', set, ad), card(null, about), card(t('why this ad'), explainForm(view, set, ad)), card(t('words'), words),
    h('p', { class: 'buttons' }, button(t('remove ad'), 'ads/remove', () => act('ads/remove', { set, ad }, {
      asks: { title: t('remove ad'), text: t('ask remove ad', textOf(ad)), yes: t('remove ad') }, then: () => { location.hash = '#/ads/' + nameToPath(set); },
    }), { danger: true })));
  await view.every(10000, async () => {
    const { words: list, ...rest } = await call('ads/show', { set, ad }, view.signal);
    put(about, facts(rest));
    put(words, view.rows(t('words'), list, ['word', 'bonus', 'views', 'clicks', 'actions', 'ecpm']));
  });
}

export default {
  name: 'ads',
  needs: 'ads/list',
  async show(view) {
    const [set, ad] = view.path;
    if (set === undefined) await showNames(view, { page: 'ads', list: 'ads/list', key: 'ad set' });
    else if (ad === undefined) await showSet(view, set);
    else await showAd(view, set, ad);
  },
};
