-- queue/finish: report the outcome of a claimed job.
-- KEYS[1...] queue  see keys.inc.lua; the last is the result of this job
-- ARGV[1] id
-- ARGV[2] token     of its claim
-- ARGV[3] outcome   done, failed, dead or released
-- ARGV[4] note      the result, or why it failed
-- ARGV[5] delay     milliseconds; '' for the backoff, or the front of the queue
-- ARGV[6] jitter    by which the backoff is multiplied
-- ARGV[7] results   and the id: the channel on which the end of the job is published
-- ARGV[8] counted   1: the caller counts how long the job ran; '': the server does
-- flags: allow-oom
-- returns TKL_OK, or TKL_NOTOWNER when the claim is not valid any more
-- include: shared/clock
-- include: ends
-- include: keeping
-- include: line
-- include: times

now = clock.ms()
local RESULT_SENT = 65536 -- bytes: waiters fetch larger results
local id, token, outcome, note, delay, jitter, results, counted = unpack(ARGV)

local waiting, meta = line.read_waiting(), totals.read()
local record = jobs.record_of(id)
local job, history = jobs.read(record), jobs.read_history(redis.call('HGET', HISTORY, id))
local claim = jobs.claim_of(id, token)
local lease_end = counted == '' and redis.call('ZSCORE', ACTIVE, claim)
if outcome == 'done' then
  keeping.add(meta, {claim}, job.result and note)
end
if redis.call('ZREM', ACTIVE, claim) == 0 then
  return TKL_NOTOWNER
end

-- Counts how long the attempt ran, from the claim on.
local function count_run()
  local noted, lease = redis.call('HGET', SINCE, id), workers.lease_of(token)
  local since = workers.claimed_at(claim, tonumber(lease_end), noted, lease)
  if since then
    times.count_run(job.kind_name, now - since, outcome ~= 'done')
  end
end

-- Keeps the result for a while, and publishes it.
local function keep_result()
  redis.call('SET', RESULT, note, 'PX', decimal.whole(job.result))
  ends.publish(results, id, #note > RESULT_SENT and 'fetch' or 'done ' .. note)
end

-- Puts the job back into the queue: after a delay, or at the front.
local function come_back(wait)
  history.started, history.since = true, now + (wait or 0)
  jobs.write_history(id, history)
  if wait then
    redis.call('ZADD', DELAYED, decimal.whole(now + wait), id)
  else
    redis.call('ZADD', READY, jobs.score(job.priority, BACK), id)
  end
end

if lease_end and outcome ~= 'released' then
  count_run()
end
local wait = tonumber(delay)
if outcome == 'failed' or outcome == 'dead' then
  history.failures, history.problem = history.failures + 1, note
  outcome = history.failures > job.retries and 'dead' or outcome
end
if outcome == 'done' then
  ends.remove(id, record, true, ends.new_budget())
  totals.add(meta, {done = 1, bytes = -#record})
  if job.result then
    keep_result()
  end
elseif outcome == 'dead' then
  local trimmed = ends.move_to_dead(id, record, history, meta, results, ends.new_budget())
  totals.add(meta, {failed = 1, bytes = -trimmed})
elseif outcome == 'failed' then
  local backoff = math.min(job.backoff * 2 ^ (history.failures - 1), job.backoff_max)
  totals.add(meta, {failed = 1})
  come_back(wait or math.ceil(backoff * jitter))
else
  come_back(wait)
end
events.publish(meta, outcome, {id}, outcome ~= 'done' and note or nil)
line.wake(waiting, line.open_gate(meta))
return TKL_OK
