-- The end of a job whose result is wanted is told to those who wait for it; see result.c.

local keep = string.match(head, ' o(%d+)')
if keep and outcome == 'done' then
  redis.call('SET', KEYS[13], ARGV[4], 'PX', keep)
  redis.pcall('SPUBLISH', KEYS[13], #ARGV[4] > 65536 and 'C' or 'D' .. ARGV[4])
elseif keep and outcome == 'dead' then
  redis.pcall('SPUBLISH', KEYS[13], 'X' .. ARGV[4])
end
