// SPDX-License-Identifier: MIT
//
// The client of clients/node, which $TACKLE_NODE_CLIENT names. Run by node.sh, with TACKLE_URL.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const { Client } = await import(process.env.TACKLE_NODE_CLIENT)
const file = `${process.env.HOME}/counter`
const FOREVER = { wait: -1 }

const open = async (run) => {
  const tackle = new Client()
  try {
    await run(tackle)
  } finally {
    await tackle.close()
  }
}

const codeOf = (promise) => promise.then(() => 'none', (error) => error.code ?? error.name)
const threads = () => Number(/Threads:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])

/** Runs part of this file in another process, which must end by itself; its output. */
const run = (part, errors = 'inherit') => new Promise((resolve, reject) => {
  const child = spawn(process.execPath, [import.meta.filename ?? process.argv[1], part],
                      { stdio: ['ignore', 'pipe', errors] })
  let output = ''
  child.stdout.on('data', (text) => { output += text })
  child.on('close', (code) => code ? reject(new Error(`${part} ended with ${code}`)) : resolve(output))
})

/** Waits for a state, however busy the machine is. */
const eventually = async (holds) => {
  while (!await holds()) await sleep(20)
}

const parts = {
  /** Reads and writes in two steps: only a lock keeps two processes apart. */
  async count() {
    await open(async (tackle) => {
      for (let i = 0; i < 40; i++) {
        const lock = await tackle.lock('counter', FOREVER)
        const before = Number(readFileSync(file, 'utf8'))
        await sleep(1)
        writeFileSync(file, String(before + 1))
        await lock.release()
      }
    })
  },

  /** Ends without a close(): nothing but a lock that is held is left to do. */
  async hold() {
    const lock = await new Client().lock('left')
    console.log(lock.fence > 0)
  },

  /** Ends in the middle of a wait. */
  async exit() {
    new Client().lock('taken', FOREVER).catch(() => {})
    setTimeout(() => process.exit(), 100)
  },

  /** Ends in the middle of a wait and of a job, and holds a lock. */
  async quit() {
    const tackle = new Client()
    await tackle.lock('quitted')
    tackle.lock('quitted', FOREVER).catch(() => {})
    for await (const job of tackle.consume('quitted')) process.exit(job.payload.length + 2)
  },

  /** Ends by an exception. */
  async fail() {
    await new Client().lock('failed')
    throw new Error('on purpose')
  },
}

const tests = {
  async 'an error has the code and the text of its own call'() {
    await open(async (tackle) => {
      const failures = ['', 'x'.repeat(65537), 7].map((name) => tackle.lock(name))
      failures.push(tackle.lock('x', { wait: Infinity }))
      const texts = (await Promise.allSettled(failures)).map(({ reason }) =>
        `${reason instanceof Error} ${reason.code}: ${reason.message}`)
      assert.match(texts[0], /true TKL_EINVAL: a lock needs a name/)
      assert.match(texts[1], /true TKL_EINVAL: .*65536/)
      assert.match(texts[2], /true TKL_EINVAL: wrong arguments/)
      assert.equal(texts[3], texts[2])
      const lock = await tackle.lock('busy')
      assert.equal(await codeOf(tackle.lock('busy')), 'TKL_BUSY')
      await lock.release()
    })
    assert.throws(() => new Client('nonsense:'), { code: 'TKL_EINVAL' })
    const nobody = new Client('redis://127.0.0.1:1?timeout=200')
    assert.equal(await codeOf(nobody.push('mails', 'x')), 'TKL_ENOTSENT')
    await nobody.close()
    assert.equal(await codeOf(nobody.push('mails', 'x')), 'TKL_EINVAL')
  },

  async 'a lock keeps two processes apart'() {
    writeFileSync(file, '0')
    await Promise.all([run('count'), run('count')])
    assert.equal(readFileSync(file, 'utf8'), '80')
  },

  async 'a later holder has a greater fence'() {
    await open(async (tackle) => {
      const first = await tackle.lock('fenced')
      const second = tackle.lock('fenced', FOREVER)
      await first.release()
      await first.release()
      assert((await second).fence > first.fence)
    })
  },

  async 'every job arrives once'() {
    await open(async (tackle) => {
      const bytes = Buffer.from([0, 255, 10])
      await tackle.push('bytes', bytes)
      for await (const job of tackle.consume('bytes', { wait: 0 })) {
        assert.deepEqual(job.payload, bytes)
        assert.equal(job.attempt, 1)
        await job.ack()
        assert.equal(await codeOf(job.ack()), 'TKL_NOTOWNER')
      }
      const ids = await Promise.all(Array.from({ length: 300 }, (_, i) => tackle.push('many', `${i}`)))
      assert.equal(new Set(ids).size, 300)
      const seen = []
      const consume = async () => {
        for await (const job of tackle.consume('many', { wait: 0 })) {
          seen.push(job.id)
          await job.ack()
        }
      }
      await Promise.all([consume(), consume(), consume()])
      assert.deepEqual(seen.sort(), ids.sort())
    })
  },

  async 'a consumer waits for jobs, and stops when it is told to'() {
    await open(async (tackle) => {
      const stop = new AbortController()
      let jobs = 0
      const consumed = (async () => {
        for await (const job of tackle.consume('slow', { signal: stop.signal })) {
          await job.fail('not today', { dead: true })
          jobs++
        }
      })()
      await tackle.push('slow', 'a', { delay: 30 })
      await tackle.push('slow', 'b')
      await eventually(() => jobs === 2)
      stop.abort()
      await consumed
    })
  },

  async 'a limit allows so many and says when the next one fits'() {
    await open(async (tackle) => {
      const rule = { count: 2, period: 60000 }
      const answers = []
      for (let i = 0; i < 3; i++) answers.push(await tackle.limit('requests', 'ann', rule))
      assert.deepEqual(answers.map((answer) => answer.allowed), [true, true, false])
      assert(answers[2].retryAfter > 0)
      assert((await tackle.limit('requests', 'bob', rule)).allowed)
    })
  },

  async 'a thousand waits take no thread'() {
    await open(async (tackle) => {
      const first = await tackle.lock('door')
      const before = threads()
      let inside = 0
      let most = 0
      const guests = Array.from({ length: 1000 }, async () => {
        const lock = await tackle.lock('door', FOREVER)
        most = Math.max(most, ++inside)
        inside--
        await lock.release()
      })
      for (let ticks = 0; ticks < 10; ticks++) await sleep(1) // Node goes on meanwhile
      assert(threads() <= before, `${threads()} threads, ${before} before`)
      await first.release()
      await Promise.all(guests)
      assert.equal(most, 1)
    })
  },

  async 'an aborted wait leaves the line'() {
    await open(async (tackle) => {
      const lock = await tackle.lock('line')
      const stop = new AbortController()
      const waits = Array.from({ length: 10 }, () => tackle.lock('line', { wait: -1, signal: stop.signal }))
      await sleep(20)
      stop.abort()
      assert.deepEqual(await Promise.all(waits.map(codeOf)), Array(10).fill(stop.signal.reason.code))
      await lock.release()
      await (await tackle.lock('line')).release()
      assert.throws(() => stop.signal.throwIfAborted())
      assert.equal(await codeOf(tackle.lock('line', stop)), stop.signal.reason.code)
    })
  },

  async 'close() ends what waits and releases what is held'() {
    const tackle = new Client()
    const held = await tackle.lock('closed')
    const waits = [tackle.lock('closed', FOREVER), tackle.consume('nothing').next()].map(codeOf)
    await sleep(20)
    await tackle.close()
    assert.deepEqual(await Promise.all(waits), ['TKL_EINTR', 'TKL_EINTR'])
    await held.release()
    await open(async (other) => { await other.lock('closed') })
  },

  async 'a program ends although it holds or waits, and releases what it held'() {
    await open(async (tackle) => {
      assert.equal(await run('hold'), 'true\n')
      await (await tackle.lock('left')).release()
      await tackle.lock('taken')
      await run('exit')
    })
  },

  async 'a program that quits or fails releases what it held'() {
    await open(async (tackle) => {
      await tackle.push('quitted', 'x')
      await assert.rejects(run('quit'), /ended with 3/)
      await (await tackle.lock('quitted')).release()
      await assert.rejects(run('fail', 'ignore'), /ended with 1/)
      await (await tackle.lock('failed')).release()
    })
  },

  async 'a thread that is terminated releases what it held'() {
    const worker = new Worker(`
      const { Client } = await import(process.env.TACKLE_NODE_CLIENT)
      const tackle = new Client()
      await tackle.lock('of a thread')
      const { parentPort } = await import('node:worker_threads')
      parentPort.postMessage('held')
      await tackle.lock('of a thread', { wait: -1 })`,
      { eval: true, execArgv: ['--input-type=module'] })
    await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    await worker.terminate()
    await open(async (tackle) => { await tackle.lock('of a thread') })
  },

  async 'what is forgotten is collected'() {
    for (let i = 0; i < 20; i++) {
      const tackle = new Client()
      await (await tackle.lock(`forgotten ${i}`)).release()
      await tackle.push('forgotten', 'x')
      for await (const job of tackle.consume('forgotten', { wait: 0 })) await job.ack()
      if (i % 2) await tackle.close()
    }
    for (let i = 0; i < 5; i++) {
      globalThis.gc()
      await sleep(1)
    }
    await eventually(() => threads() < 30)
  },
}

const part = process.argv[2]
if (part) {
  await parts[part]()
} else {
  for (const [name, test] of Object.entries(tests)) {
    console.log(name)
    await test()
  }
}
