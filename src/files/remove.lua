-- files/remove: give up a file: its time is over, or its sender says so. A client does this in
-- steps, because the file may have many chunks.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, how far its receivers
--   are, and its chunks from `first` on
-- ARGV[1] token
-- ARGV[2] holder  of the sender; '': only if its time is over
-- ARGV[3] reason  for the list of what went wrong; '': all is well
-- ARGV[4] first
-- flags: allow-oom
-- returns {code, chunks removed, chunks there may be, '1' it is gone}: TKL_NOTFOUND there is no
--   such file; TKL_NOTOWNER its time is not over, or not for sure, or another process sends it
-- include: shared/clock
-- include: keys
-- include: accounts
-- include: trouble
-- include: deadlines

now = clock.ms()
local FIXED_KEYS = CHANNEL_KEYS + 2 -- number of keys before the chunks
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, holder, reason, first = unpack(ARGV)

local function is_allowed(file)
  if holder ~= '' and file and file.holder == holder then
    return true
  end
  return holder == '' and tonumber(redis.call('ZSCORE', ENDS, token) or math.huge) <= now
end

-- Marks the file as being removed: from the first step on no process can use it.
local function mark()
  redis.call('HSET', FILE, 'state', 'removing')
  redis.call('ZADD', ENDS, now, token)
  if reason ~= '' and redis.call('EXISTS', AT) == 1 then
    trouble.note(token, '', redis.call('HGET', FILE, 'name'), reason)
  end
  redis.pcall('SPUBLISH', STATE, '')
end

-- Removes the named chunks, if they are the next ones.
local function remove_chunks(file)
  local from = records.whole(first)
  if from ~= file.freed then
    return
  end
  for i = FIXED_KEYS + 1, #KEYS do
    redis.call('UNLINK', KEYS[i])
  end
  file.freed = math.min(from + #KEYS - FIXED_KEYS, file.reserved)
  file.sent = math.max(file.sent, file.freed)
  redis.call('HSET', FILE, 'freed', file.freed, 'sent', file.sent)
  accounts.set_bytes(token, OVERHEAD + (file.reserved - file.freed) * file.chunk)
end

local function remove_all()
  local source = redis.call('HGET', FILE, 'source') or ''
  if redis.call('HGET', RESUME, source) == token then
    redis.call('HDEL', RESUME, source)
  end
  redis.call('UNLINK', FILE, AT)
  deadlines.remove(token)
  accounts.remove(token)
  redis.pcall('SPUBLISH', ROOM, '')
end

local file = records.read(FILE)
if not file and not redis.call('ZSCORE', ENDS, token) then
  return {TKL_NOTFOUND}
elseif not is_allowed(file) then
  return {TKL_NOTOWNER}
elseif not file then
  remove_all() -- its record was evicted
  return {TKL_OK, 0, 0, 1}
end
if holder == '' and deadlines.put_off(token, file, FILE, 'doubt') then
  return {TKL_NOTOWNER}
end
if file.state ~= 'removing' then
  mark()
end
remove_chunks(file)
local gone = file.freed >= file.reserved
if gone then
  remove_all()
end
return {TKL_OK, file.freed, file.reserved, gone and 1 or 0}
