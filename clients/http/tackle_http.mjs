#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// tackle over HTTP with nothing but fetch(), which Node has since version 18.
// `tackle serve` must run; $TACKLE_HTTP is its address, $TACKLE_HTTP_TOKEN a token, if it needs one.

import { fileURLToPath } from 'node:url'

const base = process.env.TACKLE_HTTP ?? 'http://127.0.0.1:8480'
const token = process.env.TACKLE_HTTP_TOKEN

/** An expected "no" (404, 409, 429) or an error; `answer` has the error and the message. */
export class Refused extends Error {
  constructor(status, answer, retryAfter) {
    super(answer.message)
    Object.assign(this, { status, answer, retryAfter })
  }
}

/** call('queue/push', { name: 'mails', payload: ['a', 'b'] }) */
export async function call(name, fields = {}) {
  const headers = { 'Content-Type': 'application/json' }
  if (token) headers.Authorization = `Bearer ${token}`
  const reply = await fetch(`${base}/v1/${name}`, {
    method: 'POST', headers, body: JSON.stringify(fields),
  })
  const answer = await reply.json()
  if (!reply.ok) throw new Refused(reply.status, answer, reply.headers.get('Retry-After'))
  return answer
}

/** Runs a function while a lock is held. It gets the fence, a number that grows. */
export async function locked(name, run, { wait = '30s', lease = '30s' } = {}) {
  const held = await call('lock/acquire', { name, wait, lease })
  try {
    return await run(held.fence)
  } finally {
    await call('lock/release', { name, token: held.token })
  }
}

/** Handles jobs until none comes. A job whose handler fails is tried again later. */
export async function work(name, handle, wait = '30s') {
  for (;;) {
    let job
    try {
      job = await call('queue/claim', { name, wait })
    } catch (error) {
      if (error.status === 404) return
      throw error
    }
    const claim = { name, id: job.id, token: job.token }
    try {
      await handle(job.payload)
    } catch (error) {
      await call('queue/fail', { ...claim, reason: String(error) })
      continue
    }
    await call('queue/ack', claim)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await locked('backup', () => console.log('holding the lock'))

  await call('queue/push', { name: 'mails', payload: ['ann@example.org', 'bob@example.org'] })
  await work('mails', payload => console.log('a mail to', payload), '100ms')

  for (let attempt = 1; attempt <= 3; attempt++) {
    try {
      await call('limit/check', { name: 'api', key: 'ann', rate: '2/h' })
      console.log(`call ${attempt}: allowed`)
    } catch (error) {
      console.log(`call ${attempt}: limited, again in ${error.retryAfter} s`)
    }
  }
}
