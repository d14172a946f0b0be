-- The common case of a line: one had all of it, the first who waits wants all of it, and somebody
-- has promised to look in time, or nobody else waits. It goes straight to that first one, which is what
-- hand_over() would come to, sooner. What does not fit is put back.

local gap = string.find(record, ' ', 104, true)
local waits, line = string.sub(record, gap + 1, gap + 1), string.sub(record, gap)
local first = waits ~= '-' and redis.call('LPOP', KEYS[3])
if first and (string.sub(first, 34, 34) == 'x' or string.sub(record, -2) == ' 1') then
  local token, space = string.sub(first, 1, 32), string.find(first, ' ', 53, true)
  local lease, look = string.sub(first, 36, 51), string.sub(record, gap + 2, gap + 17)
  lease = lease < FIRST_LEASE and lease or FIRST_LEASE
  local till = string.format('%016d', stamp + lease)
  local promised = look > stamp and look <= till and string.sub(record, gap + 41, gap + 72) ~= token
                   and (waits == 'c' or waits == 'h'
                        and string.sub(record, gap + 73, gap + 104) ~= string.sub(first, -32))
  if not promised and redis.call('EXISTS', KEYS[3]) == 0 then
    line = ' c0000000000000000' .. string.sub(record, gap + 18, gap + 40) .. '-'
           .. string.match(record, ' %S+$', gap + 41)
    promised = true
  end
  if promised then
    local fence = string.sub(record, 1, 16)
    fence = fence < stamp and stamp or string.format('%016d', fence + 1)
    local card = fence .. ' ' .. stamp .. ' '
    if redis.pcall('SPUBLISH', string.sub(first, space + 1), token .. ' grant ' .. card .. lease) == 1 then
      redis.call('SET', KEYS[1], fence .. '*' .. till .. ' ' .. token .. string.sub(first, 33, 35) .. card
                 .. string.sub(first, 53, space - 1) .. line, 'PX', '120000')
      return 0
    end
  end
end
if first then
  redis.call('LPUSH', KEYS[3], first)
end
