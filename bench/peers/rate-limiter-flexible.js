// SPDX-License-Identifier: MIT
// The settings of its README; 200 requests in flight in one process.
'use strict';
const Redis = require('ioredis');
const { performance } = require('perf_hooks');
const { RateLimiterRedis } = require('rate-limiter-flexible');

async function main() {
  const client = new Redis(process.env.BENCH_SOCKET, { enableOfflineQueue: false });
  await new Promise(resolve => client.once('ready', resolve));
  const limiter = new RateLimiterRedis({ storeClient: client, points: 1000000000, duration: 3600 });
  const run = async seconds => {
    const began = performance.now();
    let ops = 0;
    const flight = async () => {
      for (; performance.now() - began < seconds * 1000; ops++)
        await limiter.consume('bench');
    };
    await Promise.all(Array.from({ length: 200 }, flight));
    return { ops, seconds: (performance.now() - began) / 1000 };
  };
  await run(1); // until it is compiled
  console.log(JSON.stringify(await run(Number(process.env.BENCH_SECONDS))));
  client.disconnect();
}

main();
