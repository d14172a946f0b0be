// SPDX-License-Identifier: MIT
// The settings of its README except for retryCount: waiters wait for ever here.
'use strict';
const Redis = require('ioredis');
const Redlock = require('redlock');

require('./compete')(async socket => {
  const client = new Redis(socket);
  await client.ping();
  const redlock = new Redlock([client], {
    driftFactor: 0.01, retryCount: -1, retryDelay: 200, retryJitter: 200,
  });
  return { acquire: () => redlock.lock('bench:redlock', 10000), release: lock => lock.unlock() };
});
