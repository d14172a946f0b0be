// SPDX-License-Identifier: MIT
// The Mutex of redis-semaphore with the defaults, which its README recommends; it asks every 10 ms.
'use strict';
const Redis = require('ioredis');
const { Mutex } = require('redis-semaphore');

require('./compete')(async socket => {
  const client = new Redis(socket);
  await client.ping();
  const mutex = new Mutex(client, 'bench:mutex');
  return { acquire: () => mutex.acquire(), release: () => mutex.release() };
});
