-- post/fetch: the oldest messages that a reader has not acknowledged.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] owner     '1': of a mailbox, whose visit is noted; '0': a member of a chat
-- ARGV[3] max       messages; '0' only counts
-- ARGV[4] budget    bytes; the message that exceeds it is the last. See also WORDS.
-- returns {code, missed, unread, marks, entries of the stream, id of the last message}:
--   TKL_NOTFOUND there is no such chat, TKL_NOTOWNER the reader is not a member. Unread ones include
--   those returned.
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: line
-- include: age
-- include: readers

local SEEN_KEPT = 30 * 86400000 -- of a mailbox to which nobody has sent: 30 days
local STEP = 50 -- messages that are read at once
local WORDS = 8000 -- fields and values; the step that exceeds it is the last

local function note_visit(line)
  permit_writes()
  redis.call('HSET', STATE, 'seen', now)
  if not line.exists then
    redis.call('PEXPIRE', STATE, SEEN_KEPT)
  end
end

-- How many of these messages the budget allows; one at least.
local function affordable(marks, budget)
  local count = #marks / 2
  for i = 2, count do
    if marks[2 * i] - marks[2] >= budget then
      return i - 1
    end
  end
  return count
end

-- So many messages, or fewer when they have many headers.
local function read_entries(from, count)
  local entries, words = {}, 0
  while #entries < count and words < WORDS do
    local some = redis.call('XRANGE', MESSAGES, from + #entries, '+',
                            'COUNT', math.min(STEP, count - #entries))
    if #some == 0 then
      damaged()
    end
    for _, entry in ipairs(some) do
      entries[#entries + 1] = entry
      words = words + #entry[2]
    end
  end
  return entries
end

local reader, is_owner, max, budget = unpack(ARGV)
local line = read_line()
local position = position_of(line, reader, is_owner)
if not position then
  return {line.exists and TKL_NOTOWNER or TKL_NOTFOUND}
end
if is_owner == '1' then
  note_visit(line)
end
local from = math.max(position + 1, first_young(line))
local marks, entries = {}, {}
if from <= line.last and tonumber(max) > 0 then
  local at = 2 * (from - line.first)
  marks = redis.call('LRANGE', MARKS, at, at + 2 * max - 1)
  entries = read_entries(from, affordable(marks, tonumber(budget)))
end
return {TKL_OK, from - 1 - position, line.last - from + 1, marks, entries, line.last}
