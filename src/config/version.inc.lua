-- Versions of a configuration: version N is the entry N-0 of a stream.

-- Requests that are remembered: more than others can make while one is repeated.
local KEPT = 1000

local function version_of(id)
  return tonumber(string.match(id, '^(%d+)-0$'))
    or error({err = 'DAMAGED the stream was not written by tackle'})
end

-- The last version that was ever given. The requests know it without a look at the values, which may
-- be large; the stream is asked when they are lost.
local function last_version(versions, requests)
  local newest = redis.call('ZREVRANGE', requests, 0, 0, 'WITHSCORES')
  if newest[2] then
    return tonumber(newest[2])
  end
  local entry = redis.call('XREVRANGE', versions, '+', '-', 'COUNT', 1)
  return entry[1] and version_of(entry[1][1]) or 0
end

-- Remembers which version a request has made, and forgets the oldest request.
local function note_request(requests, request, version)
  redis.call('ZADD', requests, version, request)
  redis.call('ZREMRANGEBYRANK', requests, 0, -KEPT - 1)
end
