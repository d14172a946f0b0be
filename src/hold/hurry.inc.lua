-- The common case of a line: one had all of it, the first who waits wants all of it, and somebody
-- else has promised to look in time. It goes straight to that first one, which is what hand_over()
-- would come to, sooner. What does not fit is put back.

local gap = string.find(record, ' ', 104, true)
local first = string.sub(record, gap + 1, gap + 1) == 'w' and redis.call('LPOP', KEYS[3])
if first and (string.sub(first, 34, 34) == 'x' or string.sub(record, -2) == ' 1') then
  local lease = string.sub(first, 36, 51)
  lease = lease < FIRST_LEASE and lease or FIRST_LEASE
  local till, look = string.format('%016d', stamp + lease), string.sub(record, gap + 2, gap + 17)
  local token, space = string.sub(first, 1, 32), string.find(first, ' ', 53, true)
  if look > stamp and look <= till and string.sub(record, gap + 31, gap + 62) ~= token
     and string.sub(record, gap + 63, gap + 94) ~= string.sub(first, -32) then
    local fence = string.sub(record, 1, 16)
    fence = fence < stamp and stamp or string.format('%016d', fence + 1)
    local card = fence .. ' ' .. stamp .. ' '
    if redis.pcall('SPUBLISH', string.sub(first, space + 1), token .. ' grant ' .. card .. lease) == 1 then
      redis.call('SET', KEYS[1], fence .. '*' .. till .. ' ' .. token .. string.sub(first, 33, 35) .. card
                 .. string.sub(first, 53, space - 1) .. string.sub(record, gap), 'PX', '120000')
      return 0
    end
  end
end
if first then
  redis.call('LPUSH', KEYS[3], first)
end
