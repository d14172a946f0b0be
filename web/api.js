// The HTTP interface: calls, the user, and the stream of samples.

const SILENCE_MS = 15000;

// The failure of a call. `status` is 0 when the server did not answer.
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.message ?? 'HTTP ' + status);
    this.status = status;
    this.code = body?.error ?? '';
    this.result = body?.result;
  }
}

let caller = { name: '-', version: '', calls: new Set() };

export const me = () => caller;

// Whether a call is offered and permitted: "queue/pause".
export const may = (name) => caller.calls.has(name);

// Asks the server, which knows the user by a cookie that no script can read. `warn` gets the text when
// masters of a cluster did not answer, so that data is missing.
async function ask(path, options, warn) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, { error: 'OFFLINE', message: String(error.message) });
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    if (response.status === 401) dispatchEvent(new Event('tackle-login'));
    throw new Refusal(response.status, body);
  }
  if (response.headers.has('Tackle-Warning')) warn?.(response.headers.get('Tackle-Warning'));
  return body;
}

// Runs a verb: call('queue/push', {name: 'mails', payload: 'hello'}).
export function call(name, fields = {}, signal = undefined, warn = undefined) {
  return ask('v1/' + name, { method: 'POST', body: JSON.stringify(fields), signal }, warn);
}

// The work of a queue in each half hour of a week, as points for plots; [] when nothing is known.
export async function weekOf(name, signal) {
  const week = await ask('history', { method: 'POST', body: JSON.stringify({ name }), signal });
  if (week.from === null) return [];
  const lists = Object.entries(week).filter(([, list]) => Array.isArray(list));
  return lists[0][1].map((_, i) => ({ time: Date.parse(week.from) + i * week.every_ms, ...Object.fromEntries(lists.map(([key, list]) => [key, list[i]])) }));
}

// Runs a verb; for a thing that does not exist, returns the answer that says so, or null.
export async function callOrNull(name, fields = {}, signal = undefined) {
  try {
    return await call(name, fields, signal);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return error.result ?? null;
    throw error;
  }
}

// The holders of a lock, a semaphore or a leadership, which has at most one, in the same form.
export const holdersOf = (answer) => answer.holders ?? (answer.host ? [answer] : []);

// Finds out who the user is, or logs in. Throws a Refusal with status 401 when a token is needed.
export async function enter(token = undefined) {
  const answer = await (token === undefined ? ask('caller') : ask('login', { method: 'POST', body: JSON.stringify({ token }) }));
  caller = { ...answer, calls: new Set(answer.calls) };
}

export const leave = () => ask('logout', { method: 'POST' });

// ---- Samples: one stream for all tabs of a browser -----------------------------------------------

// Follows the samples until `signal` aborts. `hear(event, data)` gets each of them, and
// ('lost', {message}) when the server does not answer.
//
// The tab that holds a lock of the browser reads the stream and passes it on to the others. Hidden
// tabs neither hold the lock nor wait for it, so without a visible tab nothing is read.
export function followSamples(signal, hear) {
  const name = 'tackle-events ' + location.pathname + ' ' + caller.name;
  const channel = new BroadcastChannel(name);
  channel.onmessage = (message) => hear(message.data.event, message.data.data);
  const tell = (event, data) => {
    hear(event, data);
    channel.postMessage({ event, data });
  };
  let turn = null;
  const follow = () => {
    turn?.abort();
    turn = null;
    if (document.hidden || signal.aborted) return;
    turn = new AbortController();
    const stop = turn.signal, read = () => readForEver(stop, tell);
    (navigator.locks ? navigator.locks.request(name, { signal: stop }, read) : read()).catch(() => {});
  };
  document.addEventListener('visibilitychange', follow, { signal });
  signal.addEventListener('abort', () => {
    turn?.abort();
    channel.close();
  });
  follow();
}

async function readForEver(signal, tell) {
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 8000)) {
    try {
      await readStream(signal, (event, data) => {
        pause = 500;
        tell(event, data);
      });
    } catch (error) {
      if (signal.aborted) return;
      tell('lost', { message: error.message });
      if (error.status === 401) dispatchEvent(new Event('tackle-login'));
      if (error.status === 401 || error.status === 403) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// Reads server-sent events until the stream ends or is silent. It uses fetch(), which reports the
// status of a failure.
async function readStream(signal, tell) {
  const silence = new AbortController();
  const both = () => silence.abort();
  signal.addEventListener('abort', both);
  let alarm = setTimeout(both, SILENCE_MS);
  try {
    const response = await fetch('events', { signal: silence.signal, cache: 'no-store' });
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => null));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(both, SILENCE_MS);
      const parts = (text + value).split('\n\n');
      text = parts.pop();
      for (const part of parts) {
        const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
        if (event) tell(event, JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(alarm);
    signal.removeEventListener('abort', both);
  }
}
