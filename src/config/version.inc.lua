-- Versions of a configuration: the entries of a stream, version N has the id N-0.

local REPEATS = 10 -- entries among which a repeated request is looked for

local function version_of(id)
  return tonumber(string.match(id, '^(%d+)-0$'))
    or error({err = 'DAMAGED the stream was not written by tackle'})
end

-- The version of the current value, 0 when there is none, and the last one ever given.
local function current_version(key)
  local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
  if newest[1] then
    local version = version_of(newest[1][1])
    return version, version
  end
  if redis.call('EXISTS', key) == 0 then
    return 0, 0
  end
  local info = redis.call('XINFO', 'STREAM', key)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      return 0, version_of(info[i + 1])
    end
  end
  return 0, 0
end

-- The version that this request has made; nil when it has made none.
local function version_of_request(key, request)
  local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', REPEATS)
  for _, entry in ipairs(newest) do
    if entry[2][8] == request then
      return version_of(entry[1])
    end
  end
  return nil
end
