-- search/drop: remove terms of an index that is being dropped.
-- KEYS[1...] shard  see keys.inc.lua; then the keys of terms
-- ARGV[1] skip     bytes of a term's key before the term
-- flags: allow-oom
-- returns {terms that were removed, the next terms}
-- include: keys

local STEP, FIRST_TERM = 200, SHARD_KEYS + 1
local skip = tonumber(ARGV[1])

redis.call('HSET', META, 'token', '')
local names = {}
for i = FIRST_TERM, #KEYS do
  local key = KEYS[i]
  redis.call('UNLINK', key)
  names[#names + 1] = string.sub(key, skip + 1)
end
if #names > 0 then
  redis.call('ZREM', TERMS, unpack(names))
end
return {#names, redis.call('ZRANGE', TERMS, 0, STEP - 1)}
