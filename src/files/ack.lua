-- files/ack: a receiver has all chunks before a position; chunks that nobody needs any more go.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, how far its receivers
--   are, and chunks that may go, from `first` on
-- ARGV[1] token
-- ARGV[2] receiver
-- ARGV[3] holder
-- ARGV[4] position  '': it does not change, and nobody is asked who he is
-- ARGV[5] first
-- returns {code, chunks sent, '1' all of them, freed, position of the slowest, checksum, size}:
--   TKL_NOTFOUND the file is gone, or not for this receiver; TKL_NOTOWNER another process receives;
--   TKL_CONFLICT the chunks behind the position are gone
-- include: keys
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
-- include: shared/codes
-- include: account
-- include: holder

local FIXED_KEYS = CHANNEL_KEYS + 2 -- before those of chunks

local token, receiver, holder, position, first = unpack(ARGV)

local function slowest(file)
  local lowest = redis.call('ZRANGE', AT, 0, 0, 'WITHSCORES')
  return lowest[2] and math.min(whole(lowest[2]), file.sent) or file.sent
end

-- Removes those of the named chunks that all receivers have.
local function free(file, upto)
  local from = whole(first)
  local last = math.min(upto, from + #KEYS - FIXED_KEYS)
  if from > file.freed or last <= file.freed then
    return
  end
  for number = file.freed, last - 1 do
    redis.call('UNLINK', KEYS[FIXED_KEYS + 1 + number - from])
  end
  file.freed = last
  redis.call('HSET', FILE, 'freed', file.freed)
  set_bytes(token, chunked_bytes(file))
  if file.freed == file.sent or is_worth_a_trip(chunks_that_fit(file.chunk), file.chunk) then
    redis.pcall('SPUBLISH', ROOM, '')
  end
end

local file = read_file(FILE)
if position ~= '' and not holds(receiver, holder) then
  return {TKL_NOTOWNER}
elseif not file or file.state == 'removing' then
  return {TKL_NOTFOUND}
end
permit_writes(FILE) -- acknowledging is what makes room
if position ~= '' then
  if not redis.call('ZSCORE', AT, receiver) then
    return {TKL_NOTFOUND}
  elseif whole(position) < file.freed then
    return {TKL_CONFLICT}
  end
  redis.call('ZADD', AT, 'XX', math.min(whole(position), file.sent), receiver)
end
local lowest = slowest(file)
free(file, lowest)
return {TKL_OK, file.sent, file.state == 'complete' and 1 or 0, file.freed, lowest,
        redis.call('HGET', FILE, 'prefix'), file.size}
