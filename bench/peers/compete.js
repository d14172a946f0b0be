// SPDX-License-Identifier: MIT
//
// BENCH_WORKERS processes that acquire and release one lock, again and again, for BENCH_SECONDS;
// see bench.h for what is printed. Latencies are those of acquiring, when somebody else competes,
// and of the whole cycle otherwise.
'use strict';
const { fork } = require('child_process');
const { performance } = require('perf_hooks');

const workers = Number(process.env.BENCH_WORKERS);

async function repeat({ acquire, release }) {
  const latencies = [];
  const began = performance.now();
  const stop = began + Number(process.env.BENCH_SECONDS) * 1000;
  let last = began;
  while (last < stop) {
    const held = await acquire();
    const acquired = performance.now();
    await release(held);
    const released = performance.now();
    latencies.push((workers > 1 ? acquired : released) - last);
    last = released;
  }
  latencies.sort((a, b) => a - b);
  const at = part => latencies[Math.min(Math.floor(latencies.length * part), latencies.length - 1)] * 1000;
  return { ops: latencies.length, seconds: (last - began) / 1000, p50_us: at(0.5), p99_us: at(0.99), max_us: at(1) };
}

async function work(open) {
  const peer = await open(process.env.BENCH_SOCKET);
  process.once('message', async () => {
    const result = await repeat(peer);
    process.send(result, () => process.exit(0));
  });
  process.send('ready');
}

function lead() {
  const children = Array.from({ length: workers }, () => fork(process.argv[1], ['worker']));
  let ready = 0;
  for (const child of children)
    child.on('message', message => {
      if (message !== 'ready')
        console.log(JSON.stringify(message));
      else if (++ready === workers)
        children.forEach(each => each.send('go'));
    });
}

// `open` connects to the socket and returns { acquire, release }; release takes what acquire gave.
module.exports = open => (process.argv[2] === 'worker' ? work(open) : lead());
