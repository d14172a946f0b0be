-- How many of these jobs there is room for: `n` becomes the end of those in ARGV.

local there_are = redis.call('HLEN', KEYS[2]) - redis.call('ZCARD', DEAD)
local max_jobs, max_bytes = tonumber(meta[4] or 0), tonumber(meta[5] or 0)
local sum = tonumber(meta[3] or 0)
for i = 3, n do
  if string.byte(ARGV[i]) >= 97 then -- a record
    there_are, sum = there_are + 1, sum + #ARGV[i]
    if max_jobs > 0 and there_are > max_jobs or max_bytes > 0 and sum > max_bytes then
      n = i - 1
      break
    end
  end
end
