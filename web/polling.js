// Samples for a token that may read some components, but not the state of all of them. The page asks
// for the lists that the token may read every few seconds, and puts them into the form of a sample,
// without rates.
import { call, holdersOf, may } from './api.js';

const PAUSE_MS = 3000;

const queueRow = ({ paused, ...row }) => ({ ...row, state: paused ? 'paused' : null });

function holdRow(row) {
  const [first] = holdersOf(row);
  return { ...row, since_ms: first?.since_ms, left_ms: first?.left_ms, holder: first ? `${first.label ? first.label + ' ' : ''}(${first.host}:${first.pid})` : null };
}

const parts = {
  queues: ['queue/list', queueRow],
  locks: ['lock/list', holdRow],
  semaphores: ['sem/list', holdRow],
  leaders: ['leader/list', holdRow],
};

async function readSample(signal) {
  const sample = { time: new Date().toISOString(), server: {} };
  for (const [part, [list, row]] of Object.entries(parts))
    if (may(list)) sample[part] = (await call(list, {}, signal, (text) => { sample.warning = text; })).map(row);
  return sample;
}

export async function pollSamples(signal, hear) {
  while (!signal.aborted) {
    try {
      if (!document.hidden) hear('sample', await readSample(signal));
    } catch (error) {
      if (!signal.aborted) hear('lost', { message: error.message });
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
