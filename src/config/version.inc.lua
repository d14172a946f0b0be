-- The keys of a configuration, in the order in which every script gets them, and its versions:
-- version N is the entry N-0 of the stream.
--   VERSIONS  stream, its last entry is the current value; also the channel
--   REQUESTS  zset of the last requests by the versions that they made

local VERSIONS, REQUESTS = unpack(KEYS)

-- Requests that are remembered: more than others can make while one is repeated.
local KEPT = 1000

local function version_of(id)
  return tonumber(string.match(id, '^(%d+)-0$'))
    or error({err = 'DAMAGED the stream was not written by tackle'})
end

-- The last version that was ever given. The requests know it without a look at the values, which may
-- be large; the stream is asked when they are lost.
local function last_version()
  local newest = redis.call('ZREVRANGE', REQUESTS, 0, 0, 'WITHSCORES')
  if newest[2] then
    return tonumber(newest[2])
  end
  local entry = redis.call('XREVRANGE', VERSIONS, '+', '-', 'COUNT', 1)
  return entry[1] and version_of(entry[1][1]) or 0
end

-- Remembers which version a request has made, and forgets the oldest request.
local function note_request(request, version)
  redis.call('ZADD', REQUESTS, version, request)
  redis.call('ZREMRANGEBYRANK', REQUESTS, 0, -KEPT - 1)
end
