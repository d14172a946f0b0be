// SPDX-License-Identifier: MIT
// The settings that its documents recommend for speed: addBulk, a concurrency well above one, and
// finished jobs removed.
'use strict';
const { Queue, Worker } = require('bullmq');

require('./queues')(async socket => {
  const connection = { path: socket, maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection });
  await queue.waitUntilReady();
  const opts = { removeOnComplete: true };
  return {
    push: payloads => queue.addBulk(payloads.map(data => ({ name: 'job', data, opts }))),
    work: async handler => {
      const worker = new Worker('bench', async () => handler(), { connection, concurrency: 50 });
      await worker.waitUntilReady();
    },
  };
});
