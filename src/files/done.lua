-- files/done: a receiver is done with files: it has them, or cannot use them. Files that all
-- receivers are done with are removed.
-- KEYS[1...] channel  see keys.inc.lua; then what the call that sent the files has sent; then of
--   each file: its record, and how far its receivers are
-- ARGV[1] receiver
-- ARGV[2] holder   '': the receiver is dropped, whatever process it is
-- ARGV[3] reason   why the files are of no use to it; '': it has them
-- ARGV[4...] token of each file
-- flags: allow-oom
-- returns {code, tokens of files that the client must remove ...}: TKL_NOTOWNER another process
--   receives
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: holders
-- include: trouble
-- include: deadlines
-- include: sending
-- include: lost

now = clock.ms()
local FIXED_KEYS = CHANNEL_KEYS + 1
local RECEIVERS_MOST = 1000
local FIRST_TOKEN = 4 -- index of the first token in the arguments
local SENT = KEYS[CHANNEL_KEYS + 1]
local receiver, holder, reason = unpack(ARGV)

-- Removes a file that no receiver lacks. While the sender still sends, the sender removes it.
-- Returns whether chunks are left, which the client removes.
local function end_file(key, token)
  local file = records.read(key)
  if file and file.state == 'open' then
    return false
  elseif file and file.freed < file.reserved then
    redis.call('ZADD', ENDS, now, token)
    return true
  end
  redis.call('UNLINK', key)
  deadlines.remove(token)
  accounts.remove(token)
  return false
end

-- Makes all receivers report a file when the server has lost the list of receivers that lack it. No
-- receiver gets the file: it may have been meant for others.
local function ask_all(key, at, token)
  local state = redis.call('HGET', key, 'state')
  if redis.call('EXISTS', at) == 1 or not lost.is_listed(token) or
     not lost.is_incomplete(state, at) then
    return
  end
  local places = {}
  for _, other in ipairs(redis.call('ZRANGE', RECEIVERS, 0, RECEIVERS_MOST - 1)) do
    places[#places + 1] = 0
    places[#places + 1] = other
  end
  redis.call('UNLINK', key)
  redis.call('ZADD', at, 0, receiver, unpack(places))
  redis.call('PEXPIRE', at, KEPT_MS)
end

if holder ~= '' and not holders.is_current(receiver, holder) then
  return {TKL_NOTOWNER}
end
local left = {TKL_OK}
local tokens = {unpack(ARGV, FIRST_TOKEN)}
for i, keys in ipairs(records.keys(KEYS, FIXED_KEYS)) do
  local key, at, token = keys.record, keys.at, tokens[i]
  if reason ~= '' then
    ask_all(key, at, token)
  end
  if redis.call('ZREM', at, receiver) == 1 then
    if reason ~= '' then
      local name = redis.call('HGET', key, 'name')
      trouble.note(token, receiver, name, reason)
      sending.note_failed(SENT, receiver, name, reason)
    end
    if redis.call('EXISTS', at) == 0 and end_file(key, token) then
      left[#left + 1] = token
    end
  end
end
redis.pcall('SPUBLISH', ROOM, '')
return left
