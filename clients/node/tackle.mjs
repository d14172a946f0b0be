// SPDX-License-Identifier: MIT
//
// tackle for Node, through libtackle: see tackle.c, which must be built first.
//
//     const tackle = new Client('redis://localhost')
//     const lock = await tackle.lock('x', { wait: 5000 })
//     try {
//       store(lock.fence)
//     } finally {
//       await lock.release()
//     }
//     await tackle.close()
//
// Times are in milliseconds; `wait: -1` waits for ever. A failure throws an Error whose `code` is
// 'TKL_BUSY' or the like. Every wait takes a `signal` of an AbortController.
import { createRequire } from 'node:module'

const native = createRequire(import.meta.url)('./tackle.node')
const [DONE, FAILED, DEAD] = [0, 1, 2]

// process.exit() and exceptions end a program without its clean-up.
process.on('exit', native.exit)

export class Client {
  #client
  #pending = new Set()
  #open = new Set() // locks and consumers that are open

  /** Without a URL: the server that TACKLE_URL or the configuration file names. */
  constructor(url = null) {
    this.#client = native.open(url)
  }

  /** Resolves to a Lock, which is renewed until it is released. TKL_BUSY: others held it. */
  async lock(name, { wait = 0, lease = 0, signal } = {}) {
    const { handle, fence } = await this.#run('lock', signal, name, wait, lease)
    return this.#keep(new Lock(fence, () => this.#run('unlock', null, handle)))
  }

  /** Resolves to the id of the job. */
  push(queue, payload, { delay = 0 } = {}) {
    return this.#run('push', null, queue, payload, delay)
  }

  /** Jobs, one after the other, until none comes within `wait` or the signal is aborted. */
  async *consume(queue, { wait = -1, signal } = {}) {
    const handle = await this.#run('consumer', signal, queue)
    const consumer = this.#keep(new Held(() => this.#run('leave', null, handle)))
    try {
      for (;;) {
        const { job, ...facts } = await this.#run('claim', signal, handle, wait)
        const finish = (outcome, text) => this.#run('finish', null, handle, job, outcome, text)
        yield Object.assign(new Job(finish), facts)
      }
    } catch (error) {
      if (error.code !== 'TKL_EMPTY' && !signal?.aborted) throw error
    } finally {
      await consumer.release()
    }
  }

  /** Resolves to { allowed, remaining, retryAfter }: `count` in each `period`, for each key. */
  limit(name, key, { count, period, quantity = 1, wait = 0, signal }) {
    return this.#run('limit', signal, name, key, count, period, quantity, wait)
  }

  /** Ends all waits, releases what is held, and closes the connections. */
  async close() {
    native.interrupt(this.#client)
    while (this.#pending.size > 0 || this.#open.size > 0) {
      // A consumer whose claim has ended leaves by itself: one more operation to wait for.
      await Promise.allSettled(this.#pending)
      await Promise.allSettled([...this.#open].map((held) => held.release()))
    }
    native.end(this.#client)
  }

  async #run(verb, signal, ...args) {
    signal?.throwIfAborted()
    const [promise, id] = native[verb](this.#client, ...args)
    const cancel = () => native.cancel(this.#client, id)
    signal?.addEventListener('abort', cancel)
    this.#pending.add(promise)
    try {
      return await promise
    } catch (error) {
      throw error.code === 'TKL_EINTR' && signal?.aborted ? signal.reason : error
    } finally {
      this.#pending.delete(promise)
      signal?.removeEventListener('abort', cancel)
    }
  }

  #keep(held) {
    this.#open.add(held)
    held.released = () => this.#open.delete(held)
    return held
  }

  [Symbol.asyncDispose ?? Symbol('asyncDispose')]() {
    return this.close()
  }
}

/** A lock or a consumer, which is released once. */
class Held {
  #release
  released

  constructor(release) {
    this.#release = release
  }

  async release() {
    const release = this.#release
    this.#release = null
    if (!release) return
    this.released()
    await release()
  }

  [Symbol.asyncDispose ?? Symbol('asyncDispose')]() {
    return this.release()
  }
}

class Lock extends Held {
  constructor(fence, release) {
    super(release)
    this.fence = fence
  }
}

/** Has an id, a payload (a Buffer), and the number of the attempt. */
class Job {
  #finish

  constructor(finish) {
    this.#finish = finish
  }

  ack(result = '') {
    return this.#finish(DONE, result)
  }

  /** The job is tried again later, while retries are left; with `dead` it is not. */
  fail(reason = '', { dead = false } = {}) {
    return this.#finish(dead ? DEAD : FAILED, String(reason))
  }
}
