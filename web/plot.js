// A plot of lines over time, in SVG: at most a few hundred points, redrawn as a whole.
import { h, s, put } from './dom.js';
import { language } from './words.js';

const HEIGHT = 170, LEFT = 56, BOTTOM = 20, TOP = 8, RIGHT = 6;

// How the top of a plot is rounded up. Its half stands beside the middle line.
const tenfold = (number, steps) => {
  const power = 10 ** Math.floor(Math.log10(number));
  return steps.map((step) => step * power).find((step) => step >= number * 0.999999);
};
const ANY = (number) => tenfold(number, [1, 2, 5, 10]);
export const WHOLE = (number) => tenfold(Math.max(number, 2), [1, 2, 4, 6, 8, 10]);
export const BINARY = (number) => 2 ** Math.ceil(Math.log2(Math.max(number, 2)));

// plot({title, lines: [{name, key}], format}): `element`, and update(points) with points like
// {time: ms, pushed: 3, done: 2}; a value of null is a gap. Three lines at most: there are three colours.
export function plot({ title, lines, format, clock = undefined, steps = ANY }) {
  const drawing = s('svg', { role: 'img', 'aria-label': title, class: 'plot', height: HEIGHT });
  const legend = h('div', { class: 'legend' });
  const element = h('figure', { class: 'card' }, h('figcaption', {}, h('span', { class: 'title' }, title), legend), drawing);
  let shown = [], scale = null, width = 0;

  const timeText = (ms) => clock ? clock(ms) : new Date(ms).toLocaleTimeString(language());

  function showLegend(point, isOver = false) {
    put(legend, isOver && point ? h('span', { class: 'when' }, timeText(point.time)) : null,
      lines.map((line, i) => h('span', { class: 'key line' + i }, line.name,
        point ? ' ' + format(point[line.key]) : null)));
  }

  function draw(points) {
    shown = points;
    width = drawing.clientWidth || 500;
    drawing.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    const values = points.flatMap((p) => lines.map((line) => p[line.key] ?? 0));
    const most = steps(Math.max(...values, 0) || 1);
    const first = points[0]?.time ?? 0, last = points.at(-1)?.time ?? 1;
    const x = (time) => LEFT + (width - LEFT - RIGHT) * (last > first ? (time - first) / (last - first) : 1);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
    scale = { x, first, last };
    const rules = [0, most / 2, most].map((value) => [
      s('line', { class: 'rule', x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, format(value)),
    ]);
    const times = points.length > 1 ? [
      s('text', { x: LEFT, y: HEIGHT - 5 }, timeText(first)),
      s('text', { x: width - RIGHT, y: HEIGHT - 5, 'text-anchor': 'end' }, timeText(last)),
    ] : null;
    put(drawing, rules, times, lines.map((line, i) => pieces(points, line.key).map((piece) =>
      s('polyline', {
        class: 'line line' + i,
        points: piece.map((p) => x(p.time).toFixed(1) + ',' + y(p[line.key]).toFixed(1)).join(' '),
      }))));
    showLegend(points.at(-1));
  }

  drawing.addEventListener('pointermove', (event) => {
    if (!scale || shown.length < 2) return;
    const box = drawing.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width * width - LEFT) / (width - LEFT - RIGHT);
    const time = scale.first + at * (scale.last - scale.first);
    showLegend(shown.reduce((a, b) => (Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a)), true);
  });
  drawing.addEventListener('pointerleave', () => showLegend(shown.at(-1)));
  new ResizeObserver(() => drawing.clientWidth !== width && draw(shown)).observe(drawing);
  draw([]);
  return { element, update: draw };
}

// The points in pieces without gaps.
function pieces(points, key) {
  const all = [[]];
  for (const point of points) {
    if (point[key] === null || point[key] === undefined) all.push([]);
    else all.at(-1).push(point);
  }
  return all.filter((piece) => piece.length > 0);
}

// A small line for a cell of a table.
export function spark(values) {
  const most = Math.max(...values, 1), step = 120 / Math.max(values.length - 1, 1);
  return s('svg', { viewBox: '0 0 120 20', class: 'spark', 'aria-hidden': 'true' },
    s('polyline', {
      class: 'line line0',
      points: values.map((v, i) => (i * step).toFixed(1) + ',' + (19 - 18 * v / most).toFixed(1)).join(' '),
    }));
}
