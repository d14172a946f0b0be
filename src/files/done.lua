-- files/done: a receiver is done with files, in good order or not. Files that all receivers are
-- done with go.
-- KEYS[1...] channel  see keys.inc.lua; then of each file: its record, and how far its
--   receivers are
-- ARGV[1] receiver
-- ARGV[2] holder   '': the receiver is dropped, whoever it is
-- ARGV[3] reason   why the files are of no use to it; '': it has them
-- ARGV[4...] token of each file
-- returns {code, tokens of files that are left to be removed ...}: TKL_NOTOWNER another process
--   receives
-- include: shared/clock
local now = clock_ms()
-- include: keys
-- include: shared/codes
-- include: account
-- include: holder
-- include: trouble
-- include: overdue

local FIRST_TOKEN = 4 -- of the arguments

local receiver, holder, reason = unpack(ARGV)

-- Nobody lacks the file. Its sender, if it is still at it, ends it. Says whether there are chunks
-- left, which the client removes.
local function end_file(key, token)
  local file = read_file(key)
  if file and file.state == 'open' then
    return false
  elseif file and file.freed < file.reserved then
    redis.call('ZADD', ENDS, now, token)
    return true
  end
  redis.call('UNLINK', key)
  forget_ends(token)
  remove_from_account(token)
  return false
end

if holder ~= '' and not holds(receiver, holder) then
  return {TKL_NOTOWNER}
end
local left = {TKL_OK}
local tokens = {unpack(ARGV, FIRST_TOKEN)}
for i, keys in ipairs(file_keys(CHANNEL_KEYS)) do
  local key, at, token = keys.record, keys.at, tokens[i]
  if redis.call('ZREM', at, receiver) == 1 then
    if reason ~= '' then
      note_trouble(token, receiver, redis.call('HGET', key, 'name'), reason)
    end
    if redis.call('EXISTS', at) == 0 and end_file(key, token) then
      left[#left + 1] = token
    end
  end
end
redis.pcall('SPUBLISH', ROOM, '')
return left
