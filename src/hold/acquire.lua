-- hold/acquire: take the name for a lease; when it is not to be had, wait in line.
-- KEYS[1] record   string
-- KEYS[2] holders  zset
-- KEYS[3] queue    list
-- KEYS[4] cards    hash
-- ARGV[1] token    of this acquisition: 32 characters
-- ARGV[2] keep     milliseconds for which the record stays: a minute more than the lease
-- ARGV[3] limit    of holders; '-' for none
-- ARGV[4] wish     "mode lease who": x: alone, s: with others; microseconds, 16 digits; a word
-- ARGV[5] channel  where this waiter listens; '' to try only
-- ARGV[6...] again  if given: this token may have a place in the line from an earlier request
-- returns the fence; or {0, fence, lease}; or {1, microseconds until a lease ends, now, looker};
-- or the same in one text: "end now", and " looker" if so
-- include: clock
-- include: at_once
-- include: behind
-- include: count
-- include: record
-- include: save
-- include: holders
-- include: grant
-- include: looker
-- include: line
-- include: find
local WRITER_CHECK = 900000
local token, mode = ARGV[1], string.sub(ARGV[4], 1, 1)
local lease = string.sub(ARGV[4], 3, 18)
limit = ARGV[3]

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

local till, looks = first_end() or now, false
-- Behind a writer, although readers hold: looks whether that one is alive, see hand_over().
if mode == 's' and limit == '-' and not (x and string.sub(x, 51, 51) == 'x') then
  till = math.min(till, now + WRITER_CHECK)
end
if ARGV[5] ~= '' and not failure then
  -- include: stand
end
save()
return failure or {1, till - now, now, looks and 1 or 0}
