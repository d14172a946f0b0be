-- The first moment at which something is due, a lease ends, or the rate allows another claim: `till`.

local till = opens
for i = 4, 5 do
  local first = tonumber(redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2])
  till = first and math.min(till or first, first) or till
end
