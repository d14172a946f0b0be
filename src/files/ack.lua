-- files/ack: note that a receiver has all chunks before a position, and remove chunks that no
-- receiver needs any more.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, how far its receivers
--   are, and chunks that may go, from `first` on
-- ARGV[1] token
-- ARGV[2] receiver
-- ARGV[3] holder
-- ARGV[4] position  '': it stays, and the holder is not checked
-- ARGV[5] first
-- flags: allow-oom
-- returns {code, chunks sent, '1' all of them, freed, position of the slowest, checksum, size}:
--   TKL_NOTFOUND the file is gone, or not for this receiver; TKL_NOTOWNER another process receives;
--   TKL_CONFLICT the chunks behind the position are gone
-- include: keys
-- include: accounts
-- include: holders

local FIXED_KEYS = CHANNEL_KEYS + 2 -- number of keys before the chunks
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, receiver, holder, position, first = unpack(ARGV)

-- The position of the slowest receiver.
local function slowest(file)
  local lowest = redis.call('ZRANGE', AT, 0, 0, 'WITHSCORES')
  return lowest[2] and math.min(records.whole(lowest[2]), file.sent) or file.sent
end

-- Removes the named chunks that all receivers have.
local function free(file, upto)
  local from = records.whole(first)
  local last = math.min(upto, from + #KEYS - FIXED_KEYS)
  if from > file.freed or last <= file.freed then
    return
  end
  for number = file.freed, last - 1 do
    redis.call('UNLINK', KEYS[FIXED_KEYS + 1 + number - from])
  end
  file.freed = last
  redis.call('HSET', FILE, 'freed', file.freed)
  accounts.set_bytes(token, accounts.chunked_bytes(file))
  local room = accounts.chunks_that_fit(file.chunk)
  if file.freed == file.sent or accounts.is_worth_a_trip(room, file.chunk) then
    redis.pcall('SPUBLISH', ROOM, '')
  end
end

local file = records.read(FILE)
if position ~= '' and not holders.is_current(receiver, holder) then
  return {TKL_NOTOWNER}
elseif not file or file.state == 'removing' then
  return {TKL_NOTFOUND}
end
if position ~= '' then
  if not redis.call('ZSCORE', AT, receiver) then
    return {TKL_NOTFOUND}
  elseif records.whole(position) < file.freed then
    return {TKL_CONFLICT}
  end
  redis.call('ZADD', AT, 'XX', math.min(records.whole(position), file.sent), receiver)
end
local lowest = slowest(file)
free(file, lowest)
return {TKL_OK, file.sent, file.state == 'complete' and 1 or 0, file.freed, lowest,
        redis.call('HGET', FILE, 'prefix'), file.size}
