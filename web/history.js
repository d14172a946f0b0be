// The samples of the last minutes, for plots. They are kept in the page, and begin when it is opened.

const MOST = 300;

const totals = [];
const queues = new Map(); // name as text -> points

// When two samples are of one moment, as after a pause, the later one counts.
function push(points, point) {
  if (points.at(-1)?.time === point.time) points.pop();
  points.push(point);
  if (points.length > MOST) points.shift();
}

const sum = (rows, key) => rows.reduce((all, row) => all + (row[key] ?? 0), 0);

export function remember(sample) {
  const time = Date.parse(sample.time);
  const rows = Array.isArray(sample.queues) ? sample.queues : [];
  const known = rows.some((row) => row.pushed_per_second !== null);
  push(totals, {
    time,
    pushed: known ? sum(rows, 'pushed_per_second') : null,
    done: known ? sum(rows, 'done_per_second') : null,
    failed: known ? sum(rows, 'failed_per_second') : null,
    ready: sum(rows, 'ready'),
    active: sum(rows, 'active'),
    dead: sum(rows, 'dead'),
    commands: sample.server.commands_per_second ?? null,
    memory: sample.server.memory ?? null,
  });
  for (const row of rows) {
    const key = JSON.stringify(row.name);
    if (!queues.has(key)) queues.set(key, []);
    push(queues.get(key), {
      time,
      pushed: row.pushed_per_second,
      done: row.done_per_second,
      failed: row.failed_per_second,
      ready: row.ready,
      active: row.active,
      oldest: row.oldest_ms ?? 0,
      dead: row.dead,
    });
  }
  for (const [key, points] of queues)
    if (time - points.at(-1).time > MOST * 1000) queues.delete(key);
}

export const allPoints = () => totals;
export const queuePoints = (name) => queues.get(JSON.stringify(name)) ?? [];
