// Pushing and copying jobs by hand; the fields that name a queue in a call.
import { label, t } from '../words.js';
import { textOf } from '../format.js';
import { act, question } from '../widgets.js';
import { latest } from '../view.js';

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export function rowOf(sample, name) {
  return Array.isArray(sample?.queues) ? sample.queues.find((row) => same(row.name, name)) : undefined;
}

// The fields that name a queue in a call.
export function fieldsOf(name) {
  return { name, partitions: rowOf(latest(), name)?.partitions };
}

const isText = (value) => typeof value === 'string';

// Asks for a job and pushes it. `job` is its model: fields that cannot be edited are copied.
export async function pushJob(name, { job = null, title = t('push job'), then = null } = {}) {
  const isBinary = job !== null && !isText(job.payload);
  const values = await question({
    title, yes: t('push'), fields: [
      ...(isBinary ? [] : [{ name: 'payload', label: t('payload'), rows: 8, value: job?.payload ?? '' }]),
      { name: 'kind', label: label('kind'), value: textOf(job?.kind) }, { name: 'delay', label: t('delay'), hint: '5m' },
      { name: 'priority', label: label('priority'), hint: '0', value: job?.priority ? String(job.priority) : '' },
    ],
  });
  if (values === null) return;
  const fields = { ...fieldsOf(name), payload: isBinary ? job.payload : values.payload };
  for (const key of ['kind', 'delay', 'priority']) if (values[key]) fields[key] = values[key];
  for (const key of ['group', 'meta']) if (job?.[key]) fields[key] = job[key];
  if (job) fields.retries = job.retries;
  await act('queue/push', fields, { done: (answer) => t('pushed as', answer.ids.join(', ')), then });
}
