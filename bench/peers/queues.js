// SPDX-License-Identifier: MIT
//
// Measures a queue: `node bullmq.js push|process|wake`, with BENCH_JOBS jobs of 50 bytes that do
// nothing; bench.h describes the output. push: in batches of 1000. process: jobs that were pushed
// before; only the time from the first to the last counts. wake: one job after the other, from the
// call that pushes to the start of its handler, in an otherwise idle process.
'use strict';
const { performance } = require('perf_hooks');
const { setTimeout: sleep } = require('timers/promises');

const BATCH = 1000;
const payload = { text: 'x'.repeat(39) }; // 50 bytes as JSON

function report(ops, began, rest) {
  console.log(JSON.stringify({ ops, seconds: (performance.now() - began) / 1000, ...rest }));
}

async function push(queue, jobs) {
  for (let left = jobs; left > 0; left -= BATCH)
    await queue.push(Array(Math.min(BATCH, left)).fill(payload));
}

async function process_all(queue, jobs) {
  await push(queue, jobs);
  let began, done = 0;
  await new Promise(resolve => queue.work(() => {
    began ??= performance.now();
    if (++done === jobs)
      resolve();
  }));
  report(jobs, began);
}

async function wake(queue, jobs) {
  const latencies = [];
  let started;
  await queue.work(() => started(performance.now()));
  await sleep(500); // until it waits
  const began = performance.now();
  for (let i = 0; i < jobs; i++) {
    await sleep(2);
    const start = new Promise(resolve => { started = resolve; });
    const pushed = performance.now();
    queue.push([payload]);
    latencies.push(await start - pushed);
  }
  latencies.sort((a, b) => a - b);
  const at = part => latencies[Math.min(Math.floor(jobs * part), jobs - 1)] * 1000;
  report(jobs, began, { p50_us: at(0.5), p99_us: at(0.99), max_us: at(1) });
}

// `open` connects to the socket and returns { push(payloads), work(handler) }.
module.exports = async open => {
  const jobs = Number(process.env.BENCH_JOBS);
  const queue = await open(process.env.BENCH_SOCKET);
  if (process.argv[2] === 'push') {
    const began = performance.now();
    await push(queue, jobs);
    report(jobs, began);
  } else if (process.argv[2] === 'process')
    await process_all(queue, jobs);
  else
    await wake(queue, jobs);
  process.exit(0);
};
