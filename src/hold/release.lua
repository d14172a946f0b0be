-- hold/release: give it back, and hand it to the next.
-- KEYS[1] record   see hold/acquire
-- KEYS[2] holders
-- KEYS[3] queue
-- KEYS[4] cards
-- ARGV[1] token
-- ARGV[2] long     not '': the lease was so long that the keys should not stay until its end
-- returns 0, or 6 (TKL_NOTOWNER) when it is not held any more

-- The common cases. Nobody waits: whether the lease has ended the owner knows by its own clock, and
-- nobody else had it meanwhile.
local record = redis.call('GET', KEYS[1]) or ''
if string.sub(record, 17, 50) == ' ' .. ARGV[1] .. ' ' then
  local free = string.sub(record, 1, 16) .. ' ' .. string.match(record, '^%S+', 51)
  if redis.pcall('SET', KEYS[1], free, 'PX', '60000').ok then -- else the server is full
    return 0
  end
elseif string.sub(record, 17, 20) == '*- -' and ARGV[2] == '' then
  redis.call('HDEL', KEYS[4], ARGV[1])
  if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
    return 0
  end
end

-- include: grant
if string.sub(record, 35, 66) == ARGV[1] and string.sub(record, 17, 17) == '*' then
  -- include: clock
  -- include: hurry
end

record = record ~= '' and record
-- include: clock
-- include: count
-- include: record
-- include: save
-- include: holders
-- include: looker
-- include: line

if not drop(ARGV[1]) then
  return 6
end
if waits ~= '-' then
  sweep()
  hand_over()
else
  redis.call('PEXPIRE', KEYS[1], 1, 'GT') -- changes nothing, but lets a full server take what follows
end
if waits == '-' and ARGV[2] ~= '' then
  -- include: settle
end
save()
return failure or 0
