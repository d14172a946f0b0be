-- How many of these jobs there is room for: `n` becomes the end of those in ARGV.

local most = redis.call('HMGET', KEYS[1], 'max_jobs', 'max_bytes')
local max_jobs, max_bytes = tonumber(most[1] or 0), tonumber(most[2] or 0)
local there_are, sum = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', DEAD), meta[3] or 0
for i = 3, n do
  if string.byte(ARGV[i]) >= 97 then -- a record
    there_are, sum = there_are + 1, sum + #ARGV[i]
    if max_jobs > 0 and there_are > max_jobs or max_bytes > 0 and sum > max_bytes then
      n = i - 1
      break
    end
  end
end
