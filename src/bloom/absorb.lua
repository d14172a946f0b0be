-- bloom/absorb: add a piece of a filter that lives on another server.
-- KEYS[1] meta     of the filter that gets it
-- KEYS[2] part     of the filter that gets it
-- KEYS[3] room     for what is there, removed again
-- KEYS[4] room     for the piece, removed again
-- ARGV[1] version  of the shape
-- ARGV[2] at       byte of the part at which the piece begins
-- ARGV[3] piece    as GETRANGE gave it
-- returns TKL_OK, or TKL_BUSY when the shape is another

if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then
  return 1
end
local last = string.format('%d', ARGV[2] + #ARGV[3] - 1)
redis.call('SET', KEYS[3], redis.call('GETRANGE', KEYS[2], ARGV[2], last), 'PX', '60000')
redis.call('SET', KEYS[4], ARGV[3], 'PX', '60000')
redis.call('BITOP', 'OR', KEYS[3], KEYS[3], KEYS[4])
redis.call('SETRANGE', KEYS[2], ARGV[2], redis.call('GET', KEYS[3]))
redis.call('UNLINK', KEYS[3], KEYS[4])
return 0
