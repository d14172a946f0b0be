// Places around a point, on a plain map.
import { h, put, s } from '../dom.js';
import { t } from '../words.js';
import { call } from '../api.js';
import { nameNode, textOf, visible, cut } from '../format.js';
import { ask, card, empty } from '../widgets.js';
import { crumbs, showNames } from './names.js';

const SIDE = 420, MOST = 100, LABELS = 30;

// A map: east is right, north is up, the point looked at in the middle.
function map(places, longitude, latitude, radius) {
  const squeeze = Math.cos(latitude * Math.PI / 180) || 1, degrees = Math.max(radius / 111.2, 0.0001);
  const x = (place) => SIDE / 2 + (place.longitude - longitude) * squeeze / degrees * (SIDE / 2 - 20);
  const y = (place) => SIDE / 2 - (place.latitude - latitude) / degrees * (SIDE / 2 - 20);
  return s('svg', { viewBox: `0 0 ${SIDE} ${SIDE}`, class: 'map', role: 'img', 'aria-label': t('map') },
    [1, 0.5].map((part) => s('circle', { class: 'ring', cx: SIDE / 2, cy: SIDE / 2, r: (SIDE / 2 - 20) * part })),
    s('text', { x: SIDE / 2, y: 14, 'text-anchor': 'middle' }, `${radius} km`),
    places.map((place, i) => s('g', {}, s('circle', { class: 'place', cx: x(place), cy: y(place), r: 4 }, s('title', {}, visible(textOf(place.name)))),
      i < LABELS ? s('text', { x: x(place) + 6, y: y(place) + 4 }, visible(cut(textOf(place.name), 20))) : null)));
}

async function showSet(view, name) {
  const value = (key, otherwise) => view.params.get(key) ?? otherwise, root = h('div');
  const look = async () => {
    const longitude = Number(value('longitude', 0)), latitude = Number(value('latitude', 0)), radius = Number(value('radius', 100));
    const found = await call('geo/near', { name, longitude, latitude, radius, unit: 'km', max: MOST }, view.signal);
    put(root, found.length === 0 ? card(null, empty(t('no places'))) : h('div', { class: 'plots' }, card(null, map(found, longitude, latitude, radius)),
      card(t('nearest first'), view.rows(t('places'), found, ['name', 'distance', 'longitude', 'latitude'], { columns: { name: { cell: (row) => nameNode(row.name) } } }))));
  };
  const form = ask({
    fields: [{ name: 'longitude', label: t('longitude'), type: 'number', value: value('longitude', '') }, { name: 'latitude', label: t('latitude'), type: 'number', value: value('latitude', '') },
      { name: 'radius', label: t('radius km'), type: 'number', value: value('radius', '100') }],
    text: t('look up'),
    then: (values) => {
      for (const [key, text] of Object.entries(values)) view.setParam(key, text);
      look().catch((error) => put(root, empty(error.message)));
    },
  });
  view.show(crumbs(view, 'places', name), card(null, form), root);
  if (view.params.has('longitude')) await look();
}

export default {
  name: 'places',
  needs: 'geo/list',
  show: (view) => (view.path[0] === undefined ? showNames(view, { page: 'places', list: 'geo/list' }) : showSet(view, view.path[0])),
};
