-- post/history: the newest messages that are kept, also acknowledged ones and the reader's own.
-- KEYS[1...] post    see keys.inc.lua
-- ARGV[1] reader
-- ARGV[2] before    an id: only older messages; '': all
-- ARGV[3] max       messages
-- ARGV[4] budget    bytes; the message that exceeds it is the last. See also WORDS.
-- flags: no-writes
-- returns {code, missed, unread, marks, entries of the stream, id of the last message}, as
--   post/fetch does
-- include: shared/clock
-- include: keys
-- include: messages
-- include: ages
-- include: readers

now = clock.ms()
local STEP = 50 -- messages read at once
local WORDS = 8000 -- fields and values; the step that exceeds it is the last
local reader, before, max, budget = unpack(ARGV)
max, budget = tonumber(max), tonumber(budget)

-- Returns the first of the messages `from` to `to` that the budget allows, counted from the newest
-- one; the newest one is always allowed.
local function first_affordable(mailbag, from, to)
  local marks = redis.call('LRANGE', MARKS, 2 * (from - mailbag.first),
                           2 * (to - mailbag.first) + 1)
  local newest = #marks / 2
  for i = newest - 1, 1, -1 do
    if marks[2 * newest] - marks[2 * i] >= budget then
      return from + i
    end
  end
  return from
end

-- Reads messages from `to` backwards, down to `from` or until they have many headers. Returns the
-- entries, oldest first.
local function read_entries(from, to)
  local backwards, words = {}, 0
  while to - #backwards >= from and words < WORDS do
    local some = redis.call('XREVRANGE', MESSAGES, to - #backwards, from, 'COUNT', STEP)
    if #some == 0 then
      messages.damaged()
    end
    for _, entry in ipairs(some) do
      backwards[#backwards + 1] = entry
      words = words + #entry[2]
    end
  end
  local entries = {}
  for i = #backwards, 1, -1 do
    entries[#entries + 1] = backwards[i]
  end
  return entries
end

local mailbag = messages.read()
local position = readers.position_of(mailbag, reader, '0')
if not position then
  return {mailbag.exists and TKL_NOTOWNER or TKL_NOTFOUND}
end
local young = ages.first_young(mailbag)
local _, unread = readers.unread_behind(mailbag, reader, position)
local to = math.min(mailbag.last, (tonumber(before) or math.huge) - 1)
local from = math.max(young, readers.first_kept(mailbag), to - max + 1)
local marks, entries = {}, {}
if from <= to then
  entries = read_entries(first_affordable(mailbag, from, to), to)
  local at = 2 * (to - #entries + 1 - mailbag.first)
  marks = redis.call('LRANGE', MARKS, at, at + 2 * #entries - 1)
end
return {TKL_OK, math.max(young - 1 - position, 0), unread, marks, entries, mailbag.last}
