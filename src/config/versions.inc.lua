-- The keys of a configuration, in the order in which every script gets them, and its versions.

local versions = {}

local VERSIONS = KEYS[1] -- list: version, value, time, author of each, newest first; the channel
local REQUESTS = KEYS[2] -- zset of the last requests by the versions that they made

local FIELDS = 4 -- elements of a version
-- Requests that are remembered: more than others can make while one is repeated. Up to SOME more
-- are kept until the oldest are removed.
local KEPT, SOME = 1000, 100

-- The current version; nil: there is no value.
function versions.current()
  local version = redis.call('LINDEX', VERSIONS, 0)
  if version and (#version > 15 or not string.match(version, '^%d+$')) then
    error({err = 'DAMAGED the list was not written by tackle'})
  end
  return tonumber(version or nil)
end

-- The last version of a dropped configuration; 0: unknown, or there was none.
function versions.dropped()
  local newest = redis.call('ZREVRANGE', REQUESTS, 0, 0, 'WITHSCORES')
  return tonumber(newest[2] or 0)
end

-- Notes the version that a request has made. Removes the oldest notes from time to time.
function versions.note_request(request, version)
  redis.call('ZADD', REQUESTS, version, request)
  if version % SOME == 0 then
    redis.call('ZREMRANGEBYRANK', REQUESTS, 0, -KEPT - 1)
  end
end
