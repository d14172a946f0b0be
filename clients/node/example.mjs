#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// What tackle.mjs can do: a lock, a queue and a limit. TACKLE_URL names the server.
import { Client } from './tackle.mjs'

const tackle = new Client()

const lock = await tackle.lock('invoices', { wait: 5000 })
try {
  console.log(`holding the lock, fence ${lock.fence}`)
  await tackle.lock('invoices') // by another owner: without `wait` it fails at once
} catch (error) {
  console.log(`${error.code}: ${error.message}`)
} finally {
  await lock.release()
}

await tackle.push('mails', JSON.stringify({ to: 'ann@example.org' }))
await tackle.push('mails', JSON.stringify({ to: 'bob@example.org' }), { delay: 50 })
for await (const job of tackle.consume('mails', { wait: 1000 })) {
  console.log(`a mail to ${JSON.parse(job.payload).to}`)
  await job.ack()
}

for (let call = 1; call <= 3; call++) {
  const answer = await tackle.limit('calls', 'ann', { count: 2, period: 60000 })
  console.log(`call ${call}: ${answer.allowed ? 'allowed' : 'limited'}`)
}

await tackle.close()
