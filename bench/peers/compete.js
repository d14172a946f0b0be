// SPDX-License-Identifier: MIT
//
// BENCH_WORKERS processes that acquire and release one lock, again and again, for BENCH_SECONDS;
// bench.h describes the output. With BENCH_COUNT=handed only hand-overs count, and not acquisitions
// by the last holder while the others slept. Latencies are those of acquiring where several compete,
// and of the whole cycle otherwise.
'use strict';
const { fork } = require('child_process');
const { performance } = require('perf_hooks');

const workers = Number(process.env.BENCH_WORKERS);

async function repeat({ acquire, release }) {
  const latencies = [];
  const moments = []; // when locks were acquired, by the clock that all processes share
  const began = performance.now();
  const stop = began + Number(process.env.BENCH_SECONDS) * 1000;
  let last = began;
  while (last < stop) {
    const held = await acquire();
    const acquired = performance.now();
    moments.push(Number(process.hrtime.bigint()));
    await release(held);
    const released = performance.now();
    latencies.push((workers > 1 ? acquired : released) - last);
    last = released;
  }
  latencies.sort((a, b) => a - b);
  const at = part => latencies[Math.min(Math.floor(latencies.length * part), latencies.length - 1)] * 1000;
  return { moments, seconds: (last - began) / 1000, p50_us: at(0.5), p99_us: at(0.99), max_us: at(1) };
}

async function work(open) {
  const peer = await open(process.env.BENCH_SOCKET);
  process.once('message', async () => {
    const result = await repeat(peer);
    process.send(result, () => process.exit(0));
  });
  process.send('ready');
}

function count(results) {
  const turns = results.flatMap(({ moments }, who) => moments.map(at => ({ at, who })));
  turns.sort((a, b) => a.at - b.at);
  const ops = results.map(() => 0);
  turns.forEach(({ who }, i) => {
    if (process.env.BENCH_COUNT !== 'handed' || i === 0 || turns[i - 1].who !== who)
      ops[who]++;
  });
  return ops;
}

function lead() {
  const children = Array.from({ length: workers }, () => fork(process.argv[1], ['worker']));
  const results = [];
  let ready = 0;
  for (const child of children)
    child.on('message', message => {
      if (message !== 'ready')
        results.push(message);
      else if (++ready === workers)
        children.forEach(each => each.send('go'));
      if (results.length === workers)
        count(results).forEach((ops, i) =>
          console.log(JSON.stringify({ ...results[i], moments: undefined, ops })));
    });
}

// `open` connects to the socket and returns { acquire, release }; release takes what acquire gave.
module.exports = open => (process.argv[2] === 'worker' ? work(open) : lead());
