// SPDX-License-Identifier: MIT
// The settings that its README recommends for speed: saveAll, no events, no stored jobs, finished
// jobs removed.
'use strict';
const Queue = require('bee-queue');

require('./queues')(async socket => {
  const queue = new Queue('bench', {
    redis: { path: socket }, getEvents: false, sendEvents: false, storeJobs: false,
    removeOnSuccess: true,
  });
  await queue.ready();
  return {
    push: payloads => queue.saveAll(payloads.map(data => queue.createJob(data))),
    work: async handler => {
      queue.process(50, async () => handler());
    },
  };
});
