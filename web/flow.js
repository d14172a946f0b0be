// A flow as a drawing: jobs in columns from left to right, each behind the jobs that it waits for.
import { h, put, s } from './dom.js';
import { t } from './words.js';
import { count, cut, textOf, visible } from './format.js';

const WIDTH = 140, HEIGHT = 38, ACROSS = 56, DOWN = 12, EDGE = 6, ROWS = 10, KIND_LONGEST = 18;

// The columns: a job stands one column behind the last job that it waits for. A job that waits for
// none stands just before the first job that waits for it.
function columnsOf(jobs, parents) {
  const level = jobs.map(() => 0);
  jobs.forEach((job, i) => { level[i] = Math.max(0, ...job.after.map((child) => level[child] + 1)); });
  jobs.forEach((job, i) => {
    if (job.after.length === 0 && parents[i].length > 0) level[i] = Math.min(...parents[i].map((parent) => level[parent])) - 1;
  });
  const columns = Array.from({ length: Math.max(...level) + 1 }, () => []);
  level.forEach((at, i) => columns[at].push(i));
  return columns;
}

// Orders each column by where the neighbours of its jobs stand, to and fro, so that few lines cross.
function order(columns, jobs, parents) {
  const row = [];
  const place = (column) => column.forEach((job, at) => { row[job] = at - column.length / 2; });
  const mean = (others, job) => (others.length === 0 ? row[job] : others.reduce((sum, other) => sum + row[other], 0) / others.length);
  const sweep = (list, neighbours) => list.forEach((column) => {
    const wanted = new Map(column.map((job) => [job, mean(neighbours(job), job)]));
    place(column.sort((a, b) => wanted.get(a) - wanted.get(b)));
  });
  columns.forEach(place);
  for (let round = 0; round < 4; round++) {
    sweep(columns, (job) => jobs[job].after);
    sweep([...columns].reverse(), (job) => parents[job]);
  }
}

function nodeOf(job, { x, y }, isMine, link) {
  const state = t(job.state), kind = job.kind === null ? '' : visible(cut(textOf(job.kind), KIND_LONGEST));
  const waits = job.waits_for > 0 ? t('waits for n', count(job.waits_for)) : null;
  return s('a', { href: link, class: 'flow-job is-' + job.state, 'aria-current': isMine ? 'true' : null, 'aria-label': [job.id, state, kind, waits].filter(Boolean).join(', ') },
    s('title', {}, [job.id, state, kind, waits].filter(Boolean).join('\n')),
    s('rect', { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    s('text', { x: x + 10, y: y + 16 }, job.id), s('text', { x: x + 10, y: y + 31, class: 'flow-state' }, state, kind ? ' · ' + kind : ''));
}

// Where the jobs are drawn, and how large the drawing is. A long column becomes several short ones.
function spotsOf(columns) {
  const grids = columns.map((column) => {
    const wide = Math.ceil(column.length / ROWS);
    return { column, wide, rows: Math.ceil(column.length / wide) };
  });
  const most = Math.max(...grids.map(({ rows }) => rows)), spots = [];
  let left = EDGE;
  for (const { column, wide, rows } of grids) {
    column.forEach((job, i) => {
      spots[job] = { x: left + Math.floor(i / rows) * (WIDTH + DOWN), y: EDGE + (i % rows + (most - rows) / 2) * (HEIGHT + DOWN) };
    });
    left += wide * (WIDTH + DOWN) - DOWN + ACROSS;
  }
  return { spots, width: left - ACROSS + EDGE, height: 2 * EDGE + most * (HEIGHT + DOWN) - DOWN };
}

// Draws the answer of `queue flow` into `root`: `mine` is the job in the middle, `linkTo(id)` the
// address of a job. A job that stands alone is no flow.
export function drawFlow(root, flow, mine, linkTo) {
  if (flow.jobs.length < 2) {
    put(root);
    return;
  }
  const at = new Map(flow.jobs.map((job, i) => [job.id, i]));
  const jobs = flow.jobs.map((job) => ({ ...job, after: job.after.map((id) => at.get(id)) }));
  const parents = jobs.map(() => []);
  jobs.forEach((job, i) => job.after.forEach((child) => parents[child].push(i)));
  const columns = columnsOf(jobs, parents);
  order(columns, jobs, parents);
  const { spots, width, height } = spotsOf(columns);
  const lines = jobs.flatMap((job, i) => job.after.map((child) => {
    const from = spots[child], to = spots[i], x1 = from.x + WIDTH, y1 = from.y + HEIGHT / 2, x2 = to.x, y2 = to.y + HEIGHT / 2, bend = ACROSS / 2;
    return s('path', { class: 'flow-line', d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  }));
  const drawing = s('svg', { class: 'flow', role: 'group', 'aria-label': t('flow'), width, height, viewBox: `0 0 ${width} ${height}` },
    lines, jobs.map((job, i) => nodeOf(job, spots[i], job.id === mine, linkTo(job.id))));
  const old = root.querySelector('.scroll'), focused = root.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  const box = h('div', { class: 'scroll flow-box', tabindex: '0', role: 'group', 'aria-label': t('flow') }, drawing);
  put(root, h('h2', {}, t('flow')), box, flow.not_listed > 0 ? h('p', { class: 'quiet' }, t('flow more', count(flow.not_listed))) : null);
  const spot = spots[at.get(mine)];
  box.scrollTo(old ? { left: old.scrollLeft, top: old.scrollTop } : { left: spot.x - box.clientWidth / 2, top: spot.y - box.clientHeight / 2 });
  if (focused) [...drawing.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
}
