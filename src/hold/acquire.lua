-- hold/acquire: take the name for a lease; when it is not to be had, wait in line.
-- KEYS[1] record   string
-- KEYS[2] holders  zset
-- KEYS[3] queue    zset
-- KEYS[4] cards    hash
-- ARGV[1] token    of this acquisition: 32 characters
-- ARGV[2] keep     milliseconds for which the record stays: a minute more than the lease
-- ARGV[3] limit    of holders; '-' for none
-- ARGV[4] wish     "mode lease who": x: alone, s: with others; microseconds, 16 digits; a word
-- ARGV[5] channel  where this waiter listens; '' to try only
-- returns the fence; or {0, fence, lease}; or {1, microseconds until a lease ends, now, looker}
-- include: clock
-- include: at_once
-- include: count
-- include: record
local WRITER_CHECK = 900000
local token, mode = ARGV[1], string.sub(ARGV[4], 1, 1)
local lease = string.sub(ARGV[4], 3, 18)
limit = ARGV[3]

-- Unless another one has all of it, for some time yet, it may be had.
local all = x and (limit == '1' or string.sub(x, 51, 51) == 'x')
local till = all and tonumber(string.sub(x, 1, 16)) or 0
if till <= now or string.sub(x, 18, 49) == token then
  -- include: save
  -- include: holders
  -- include: looker
  -- include: line
  -- include: find
  sweep()
  local nobody_waits = hand_over()
  local mine, card = find(token)
  if not mine and nobody_waits and room(mode) then
    mine, card = now, next_fence() .. ' ' .. stamp .. string.sub(ARGV[4], 19)
  end
  if mine then -- now, or since an earlier request, or granted a moment ago
    put(token, mode, tonumber(lease), card)
    save()
    return {0, tonumber(string.sub(card, 1, 16)), lease}
  end
  till = first_end() or now
  -- Behind a writer, although readers hold: looks whether that one is alive, see hand_over().
  if mode == 's' and limit == '-' and not (x and string.sub(x, 51, 51) == 'x') then
    till = math.min(till, now + WRITER_CHECK)
  end
  save()
  if failure then
    return failure
  end
end
if ARGV[5] == '' then
  return {1, till - now, now, 0}
end

local me = token .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]
arrivals = moment(arrivals + 1)
redis.call('ZADD', KEYS[3], 'NX', arrivals, me)
redis.call('PEXPIRE', KEYS[3], '900000') -- a quarter of an hour
-- Somebody else has promised to look when the lease ends; but all of a client end together.
local client = string.sub(me, -32)
local looks = looker == '-' or string.sub(looker, -32) == client
if looks then
  looker, look = token .. string.match(me, '^[^/]*/', 53) .. client, moment(till)
end
redis.call('SET', KEYS[1], fence .. '*' .. alive .. ' ' .. arrivals .. ' ' .. look .. ' ' .. limit
           .. ' ' .. looker .. ' ' .. (x or ''), 'PXAT', tonumber(alive))
return {1, till - now, now, looks and 1 or 0}
