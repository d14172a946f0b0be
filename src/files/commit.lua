-- files/commit: note that chunks were written, and reserve more. Without chunks it only reserves.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, how far its receivers
--   are, what the call has sent, and the chunks written
-- ARGV[1] token
-- ARGV[2] holder
-- ARGV[3] first   number of the first of these chunks
-- ARGV[4] length  bytes in them
-- ARGV[5] prefix  checksum of everything sent so far
-- ARGV[6] want    how many more chunks the sender would like to write
-- ARGV[7] size    of the file, all of which is sent; '': there is more
-- ARGV[8] fingerprint
-- ARGV[9] kept    how long the call may be interrupted, ms; '': it is not remembered
-- returns {code, chunks sent, how many more may be written, overdue file, ms to the next}:
--   TKL_NOTFOUND the file is gone; TKL_NOTOWNER another process sends it; TKL_CONFLICT the server
--   has another number of chunks, or lacks bytes of these, or knows an earlier process; TKL_EMPTY
--   no receiver is left
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: deadlines
-- include: sending

now = clock.ms()
local FIXED_KEYS = CHANNEL_KEYS + 3 -- number of keys before the chunks
local FILE, AT, SENT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, holder, first, length, prefix, want, size, fingerprint, kept = unpack(ARGV)

-- Whether all bytes of the chunks are stored.
local function chunks_arrived(count)
  local bytes = 0
  for i = FIXED_KEYS + 1, FIXED_KEYS + count do
    bytes = bytes + redis.call('STRLEN', KEYS[i])
  end
  return bytes == records.whole(length)
end

-- Removes the written chunks of a file that is gone: the process that removed the file did not know
-- about them.
local function remove_written()
  for i = FIXED_KEYS + 1, #KEYS do
    redis.call('UNLINK', KEYS[i])
  end
end

-- Reserves room for more chunks if there is enough room, or when receivers have all chunks of this
-- file. Else receivers will free room by taking chunks, and the sender is notified then.
local function reserve(file)
  local missing = records.whole(want) - (file.reserved - file.sent)
  local room = missing > 0 and accounts.chunks_that_fit(file.chunk) or 0
  if accounts.is_worth_a_trip(room, file.chunk) or file.freed == file.sent then
    file.reserved = file.reserved + math.max(0, math.min(missing, room))
  end
end

-- Completes the file: all of it is sent.
local function complete(file)
  file.state, file.size, file.reserved = 'complete', size, file.sent
  redis.call('HDEL', RESUME, fingerprint)
  sending.note(SENT, fingerprint, token, kept)
end

local file = records.read(FILE)
if not file or file.state == 'removing' then
  remove_written()
  return {TKL_NOTFOUND}
elseif file.holder > holder then
  return {TKL_NOTOWNER}
elseif file.holder < holder then -- the server has older data: take the file again
  return {TKL_CONFLICT, file.sent}
elseif redis.call('EXISTS', AT) == 0 then
  return {TKL_EMPTY}
end
local count = #KEYS - FIXED_KEYS
local upto = records.whole(first) + count
local is_new = upto > file.sent or size ~= '' and file.state == 'open'
if upto ~= file.sent and (records.whole(first) ~= file.sent or not chunks_arrived(count)) then
  return {TKL_CONFLICT, file.sent}
end
if is_new then
  file.sent = upto
  file.reserved = math.max(file.reserved, upto)
  accounts.note_change(token)
end
if size ~= '' then
  complete(file)
else
  reserve(file)
end
redis.call('HSET', FILE, 'state', file.state, 'size', file.size, 'sent', file.sent, 'reserved',
           file.reserved, 'prefix', prefix)
accounts.set_bytes(token, accounts.chunked_bytes(file))
if file.state == 'complete' then
  deadlines.remove(token)
  redis.call('ZADD', ENDS, now + file.ttl, token)
else
  deadlines.note_lease(token, file, FILE)
end
records.keep(FILE, AT, file)
accounts.keep_channel({STATE, FILES, ENDS, BYTES, RESUME}, file.ttl)
sending.keep(SENT, kept)
if is_new then
  redis.pcall('SPUBLISH', STATE, token .. file.sent)
end
local overdue, left = deadlines.overdue()
return {TKL_OK, file.sent, file.reserved - file.sent, overdue, left}
