-- queue/dead: count, read, retry or remove dead letters, the newest first.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] action    count, read, retry or remove
-- ARGV[2] ids       of the dead letters, with spaces between them; '' for all
-- ARGV[3] cursor    where the last step ended; '' to begin with
-- ARGV[4] kind      of the dead letters; this and the rest: see filter.read()
-- ARGV[5] reason    a part of it
-- ARGV[6] text      a part of it
-- ARGV[7] older     milliseconds
-- ARGV[8] event     for watchers: what became of removed ones, cancelled or moved
-- flags: allow-oom
-- returns {how many, looked at, cursor to go on with ('' when that was all), {id, record, ...} of
--   those that were read}
-- include: shared/clock
-- include: ends
-- include: filter
-- include: line
-- include: walk

now = clock.ms()
local STEP, BYTES = 100, 4194304 -- dead letters and bytes of their records, in one script
local action, ids, cursor, kind, reason, text, older, event = unpack(ARGV)

local waiting, meta, budget = line.read_waiting(), totals.read(), ends.new_budget()
local which = filter.read(kind, reason, text, older)
local chosen, found, bytes, removed = {}, {}, 0, 0

local act = {}

function act.count()
end

function act.read(id, record)
  found[#found + 1] = id
  found[#found + 1] = record
end

function act.retry(id, record)
  local job = jobs.read(record)
  redis.call('ZREM', DEAD, id)
  jobs.make_ready(id, job.priority)
  if job.unique > 0 and not job.unique_ms and not unique.holder_of(job.unique_key) then
    unique.hold(job, id)
  end
end

function act.remove(id, record)
  redis.call('ZREM', DEAD, id)
  ends.remove(id, record, false, budget)
  removed = removed + #record
end

-- Acts on a dead letter if it fits the filter. A removal also removes members without a record,
-- which another program wrote. Returns true when this script has read enough.
local function handle(id, died)
  local record = redis.call('HGET', JOBS, id)
  bytes = bytes + #(record or '')
  if record and filter.fits(which, id, record, tonumber(died)) then
    chosen[#chosen + 1] = id
    act[action](id, record)
  elseif not record and action == 'remove' then
    redis.call('ZREM', DEAD, id)
  end
  return bytes > BYTES
end

local looked_at, next_cursor = walk.chosen(DEAD, ids, cursor, STEP, 'REV', handle)
if action == 'retry' then
  unique.let_expire()
  events.publish(meta, 'retried', chosen)
  line.wake(waiting, line.open_gate(meta))
elseif action == 'remove' then
  totals.add(meta, {bytes = -removed})
  events.publish(meta, event, chosen)
  line.wake(waiting, line.open_gate(meta))
end
return {#chosen, looked_at, next_cursor, found}
