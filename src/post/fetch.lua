-- post/fetch: the oldest messages that a reader has not acknowledged, without its own.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] owner     '1': the owner of a mailbox, whose visit is noted; '0': a member of a chat
-- ARGV[3] max       messages; '0' only counts
-- ARGV[4] budget    bytes; the message that exceeds it is the last. See also WORDS.
-- flags: allow-oom
-- returns {code, missed, unread, marks, entries of the stream, id of the last message}:
--   TKL_NOTFOUND there is no such chat, TKL_NOTOWNER the reader is not a member. `unread` counts
--   the returned messages, too, and none of the reader's own.
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: own
-- include: readers

now = clock.ms()
local STEP = 50 -- messages read at once
local WORDS = 8000 -- fields and values; the step that exceeds it is the last
local reader, is_owner, max, budget = unpack(ARGV)
max, budget = tonumber(max), tonumber(budget)

-- Returns how many of the messages with these marks the budget allows; at least one.
local function affordable(marks)
  local count = #marks / 2
  for i = 2, count do
    if marks[2 * i] - marks[2] >= budget then
      return i - 1
    end
  end
  return count
end

-- Reads `count` messages, or fewer when they have many headers.
local function read_entries(from, count)
  local entries, words = {}, 0
  while #entries < count and words < WORDS do
    local some = redis.call('XRANGE', MESSAGES, from + #entries, '+',
                            'COUNT', math.min(STEP, count - #entries))
    if #some == 0 then
      messages.damaged()
    end
    for _, entry in ipairs(some) do
      entries[#entries + 1] = entry
      words = words + #entry[2]
    end
  end
  return entries
end

-- Returns marks and entries without the reader's own messages.
local function without_own(marks, entries, from)
  if own.count(reader, from, from + #entries - 1) == 0 then
    return marks, entries -- the usual case
  end
  local kept_marks, kept = {}, {}
  for i, entry in ipairs(entries) do
    local id = from + i - 1
    if own.count(reader, id, id) == 0 then
      kept_marks[#kept_marks + 1] = marks[2 * i - 1]
      kept_marks[#kept_marks + 1] = marks[2 * i]
      kept[#kept + 1] = entry
    end
  end
  return kept_marks, kept
end

local mailbag = messages.read()
local position = readers.position_of(mailbag, reader, is_owner)
if not position then
  return {mailbag.exists and TKL_NOTOWNER or TKL_NOTFOUND}
end
if is_owner == '1' and mailbag.exists then
  redis.call('HSET', STATE, 'seen', now)
end
local missed = math.max(ages.first_young(mailbag) - 1 - position, 0)
local from, unread = readers.unread_behind(mailbag, reader, position)
local marks, entries = {}, {}
if unread > 0 and max > 0 then
  local at = 2 * (from - mailbag.first)
  marks = redis.call('LRANGE', MARKS, at, at + 2 * max - 1)
  entries = read_entries(from, affordable(marks))
  marks, entries = without_own(marks, entries, from)
end
return {TKL_OK, missed, unread, marks, entries, mailbag.last}
