-- The common case of a line: another one has all of it for some time yet. One more waits, and looks when
-- that lease ends unless somebody has promised it: whoever did so for an earlier lease may be next.

local gap = ARGV[5] ~= '' and not ARGV[6] and record and string.sub(record, 17, 17) == '*'
            and string.sub(record, 18, 33) > stamp and string.find(record, ' ', 104, true)
if gap and (ARGV[3] == '1' or string.sub(record, 68, 68) == 'x')
   and string.sub(record, -1 - #ARGV[3]) == ' ' .. ARGV[3]
   and string.sub(record, 35, 66) ~= ARGV[1] then
  local host = string.sub(ARGV[4], 20, string.find(ARGV[4], '/', 20, true))
  local client, till = string.sub(ARGV[5], -32), string.sub(record, 18, 33)
  local before, kept = string.sub(record, gap + 1, gap + 1), string.sub(record, gap + 31, gap + 40)
  local waits, looker = before, string.sub(record, gap + 41, -2 - #ARGV[3])
  local alone = redis.call('RPUSH', KEYS[3], ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5]) == 1
  local unkept = alone or kept <= time[1]
  if unkept then
    kept = string.format('%010d', time[1] + 60)
    redis.call('PEXPIRE', KEYS[3], '900000')
  end
  if alone then
    waits = 'c'
  elseif string.sub(looker, 65) ~= host then
    waits = 'm'
  elseif waits == 'c' and string.sub(looker, 33, 64) ~= client then
    waits = 'h'
  end
  local looks = string.sub(record, gap + 2, gap + 17) ~= till
  if looks or unkept or waits ~= before then
    looker = looks and ARGV[1] .. client .. host or looker
    redis.call('SET', KEYS[1], string.sub(record, 1, gap) .. waits .. till
               .. string.sub(record, gap + 18, gap + 30) .. kept .. looker .. ' ' .. ARGV[3], 'KEEPTTL')
  end
  return till .. ' ' .. stamp .. (looks and ' looker' or '')
end
