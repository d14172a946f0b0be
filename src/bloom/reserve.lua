-- bloom/reserve: make a filter, or add a sub-filter to one.
-- KEYS[1] meta     hash
-- KEYS[2...] parts of the new sub-filter: emptied, should anything be left of an older one
-- ARGV[1] before   the version that it must have; '' for a new filter
-- ARGV[2] version  that it gets
-- ARGV[3...] fields and values of meta
-- returns TKL_OK, or TKL_EXISTS when it has another version; an error when meta is no filter's

local version = redis.call('HGET', KEYS[1], 'version') or ''
if version == '' and redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE the hash is no filter of tackle')
end
if version == ARGV[2] then -- a repeated request
  return 0
end
if version ~= ARGV[1] then
  return 7
end
redis.call('UNLINK', unpack(KEYS, 2))
redis.call('HSET', KEYS[1], 'version', ARGV[2], unpack(ARGV, 3))
return 0
