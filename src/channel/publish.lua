-- channel/publish: add messages to a channel, all or none, and wake its followers.
-- KEYS[1...] channel  see keys.inc.lua
-- ARGV[1] request   random, of this request
-- ARGV[2] again     '1': the request may have been executed already
-- ARGV[3] window    milliseconds for which it may be repeated, from its beginning
-- ARGV[4] keep      messages that stay in the history, at least
-- ARGV[5] ttl       ms for which messages stay in the history
-- ARGV[6...] the messages
-- returns {code, ms and number of the last message}; TKL_EUNKNOWN: the script cannot tell whether
--   the request was executed already
-- include: shared/clock
-- include: keys

local FIRST_MESSAGE = 6   -- index in ARGV
local NOTE_BYTES = 200    -- longest message to publish; more may pile up for a slow follower
local TRIMMED = 1000      -- most entries that one call removes from the history by age
local DUE_MS, DUE_COUNT = 1000, 16 -- see is_due
local SLACK_MS = DUE_MS * DUE_COUNT -- how long the expiry of the keys may be out of date
local STATE_MS = 86400000 -- the state outlives the history by a day: numbers go on
local LEAST, MOST, BYTES, AT_ONCE = 100, 1000, 1048576, 10 -- bounds of the search for a request

local request, again, window, keep, ttl = unpack(ARGV, 1, FIRST_MESSAGE - 1)
local now = clock.ms()
local count = #ARGV - FIRST_MESSAGE + 1

-- Looks for the messages of an earlier attempt, from the newest message back. Returns the id of
-- the attempt's first message, or nil; and whether that is certain.
local function find_earlier()
  local looked, bytes, before = 0, 0, '+'
  while looked < MOST and bytes < BYTES do
    local some = redis.call('XREVRANGE', HISTORY, before, '-', 'COUNT', AT_ONCE)
    for _, entry in ipairs(some) do
      local id, fields = entry[1], entry[2]
      local ms, number = keys.read_id(id)
      if fields[2] == request then
        return id, true
      elseif number == 1 or looked >= LEAST and ms < now - tonumber(window) then
        return nil, true
      end
      looked, bytes, before = looked + 1, bytes + #(fields[4] or ''), '(' .. id
    end
    if #some < AT_ONCE then
      return nil, false -- older messages are removed
    end
  end
  return nil, false
end

local ms, number, life = keys.newest()
if again == '1' and number > 0 then
  local first, certain = find_earlier()
  if first then
    local at, of = keys.read_id(first)
    return {TKL_OK, at, of + count - 1}
  elseif not certain then
    return {TKL_EUNKNOWN}
  end
end
-- Whether old messages are removed and the expiry of the keys is set: after a pause, and after
-- every few messages. Doing it for every message would cost as much as the message itself.
local is_due = now - ms >= DUE_MS or number % DUE_COUNT < count
ms = math.max(ms, now) -- ids grow, even if the clock was set back
for i = 1, count do
  redis.call('XADD', HISTORY, 'MAXLEN', '~', keep, string.format('%d-%d', ms, number + i),
             'r', i == 1 and request or '', 'm', ARGV[FIRST_MESSAGE + i - 1])
end
number = number + count
redis.call('HSET', STATE, 'ms', string.format('%d', ms), 'number', string.format('%d', number))
if not life then
  redis.call('HSET', STATE, 'life', request)
end
if is_due then
  redis.call('XTRIM', HISTORY, 'MINID', '~', now - ttl, 'LIMIT', TRIMMED)
  redis.call('PEXPIRE', HISTORY, ttl + SLACK_MS)
  redis.call('PEXPIRE', STATE, ttl + SLACK_MS + STATE_MS)
end

-- When the publisher's user may not notify, no follower wakes up, but the message is published.
local note, message = string.format('%d-%d', ms, number), ARGV[FIRST_MESSAGE]
if count == 1 and #message <= NOTE_BYTES then
  note = note .. ' ' .. message
end
redis.pcall('SPUBLISH', STATE, note)
return {TKL_OK, ms, number}
