-- queue/done: count or remove kept jobs, the newest first.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] action    count or remove
-- ARGV[2] ids       of the jobs, with spaces between them; '' for all
-- ARGV[3] cursor    where the last step ended; '' to begin with
-- ARGV[4] kind      of the jobs; this and the rest: see filter.read()
-- ARGV[5] reason    a part of it
-- ARGV[6] text      a part of it
-- ARGV[7] older     milliseconds
-- flags: allow-oom
-- returns {how many, looked at, cursor to go on with ('' when that was all)}
-- include: shared/clock
-- include: filter
-- include: sets
-- include: walk

now = clock.ms()
local STEP, BYTES = 100, 4194304 -- kept jobs and bytes of their rows, in one script
local action, ids, cursor, kind, reason, text, older = unpack(ARGV)

types.check_zsets(DONE)
types.check_hashes(DONE_JOBS)
local which, floor = filter.read(kind, reason, text, older), sets.floor('done')
local chosen, removed, read = {}, 0, 0 -- ids; bytes of rows

-- Chooses a kept job if it fits the filter and is not too old. A removal also removes rows that
-- another program wrote. Returns true when this script has read enough.
local function handle(id, done)
  local row = redis.call('HGET', DONE_JOBS, id)
  local kept, bytes = keeping.read(row), #(row or '')
  local fits = action == 'remove'
  if kept then
    done = tonumber(done)
    fits = done > floor and filter.fits(which, id, kept.record, done, kept.history)
  end
  read = read + bytes
  if fits then
    chosen[#chosen + 1], removed = id, removed + bytes
  end
  return read > BYTES
end

local looked_at, next_cursor =
    walk.chosen(DONE, ids, cursor, STEP, sets.order('done'), handle)
if action == 'remove' and chosen[1] then
  redis.call('ZREM', DONE, unpack(chosen))
  keeping.remove_rows(chosen, removed)
end
return {#chosen, looked_at, next_cursor}
