-- The common case of a line: another one has all of it for some time yet, and somebody else, on this
-- machine, has promised to look. One more waits.

local gap = ARGV[5] ~= '' and not ARGV[6] and record and string.sub(record, 17, 17) == '*'
            and string.sub(record, 18, 33) > stamp and string.find(record, ' ', 104, true)
if gap and (ARGV[3] == '1' or string.sub(record, 68, 68) == 'x')
   and string.sub(record, -1 - #ARGV[3]) == ' ' .. ARGV[3]
   and string.sub(record, 35, 66) ~= ARGV[1]
   and string.sub(record, gap + 2, gap + 17) > stamp
   and string.sub(record, gap + 63, gap + 94) ~= string.sub(ARGV[5], -32) then
  local host = string.sub(ARGV[4], 20, string.find(ARGV[4], '/', 20, true))
  if string.sub(record, gap + 95, gap + 94 + #host) == host then
    if redis.call('RPUSH', KEYS[3], ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]) == 1 then
      redis.call('PEXPIRE', KEYS[3], '900000')
    end
    return string.sub(record, 18, 34) .. stamp
  end
end
