-- queue/find: jobs of a set that fit a filter, in steps.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] set       ready, delayed, active, parked, flow, dead or done
-- ARGV[2] cursor    where the last step ended; '' to begin with
-- ARGV[3] max       jobs to find
-- ARGV[4] kind      of the jobs; this and the rest: see filter.read()
-- ARGV[5] reason    a part of it
-- ARGV[6] text      a part of it
-- ARGV[7] older     milliseconds
-- ARGV[8] cut       bytes of each payload in the answer; 0 for all of it
-- flags: no-writes
-- returns {now, looked at, cursor to go on with ('' when that was all), {what sets.append() says
--   of each}}
-- include: shared/clock
-- include: filter
-- include: sets
-- include: walk

now = clock.ms()
local STEP, BYTES = 200, 4194304 -- jobs and bytes of their records, in one script
local set, cursor, max, kind, reason, text, older, cut = unpack(ARGV)
max, cut = tonumber(max), tonumber(cut)

local floor = sets.floor(set)
local which, found, count, bytes = filter.read(kind, reason, text, older), {}, 0, 0

-- Looks at a member of the set. Returns true when this script has found or read enough.
local function look_at(member, score)
  local id = sets.id_of(set, member)
  -- A text is searched for in the whole record.
  local record, read, kept = sets.read(set, id, text == '' and cut or 0)
  local since = sets.order(set) and tonumber(score) or jobs.pushed_at(id)
  bytes = bytes + (read or 0)
  if record and tonumber(score) > floor and
     filter.fits(which, id, record, since, kept and kept.history) then
    record = cut > 0 and jobs.cut(record, cut) or record
    sets.append(found, id, score, record, set == 'active' and member, kept)
    count = count + 1
  end
  return count == max or bytes > BYTES
end

local looked_at, next_cursor =
    walk.each(sets.key(set), cursor, STEP, sets.order(set), look_at)
return {now, looked_at, next_cursor, found}
