-- Telling those who wait.

local failure -- why nobody can be told anything: a matter of permissions

-- Publishes; how many heard it, or nil and `failure`. Always after a write has succeeded: on a server
-- that refuses writes nobody must be told of what was not written down.
local function tell(channel, word)
  local heard = redis.pcall('SPUBLISH', channel, word)
  if type(heard) == 'table' then
    failure = heard
    return nil
  end
  return heard
end

-- A machine that dies takes all of its waiters along, and so does a client, with which the channel
-- ends: how far apart is one, whose host begins at `at`, from those of this "host/" and client?
local function apart(one, at, host, client)
  if string.sub(one, at, at + #host - 1) ~= host then
    return 2
  end
  return string.sub(one, -32) ~= client and 1 or 0
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time. Of the last four, since they will wait
-- longest, the one farthest from the heir.
local function appoint(till, heir)
  local SLACK = 100000
  local host, client, promised, at = '', '', -1, tonumber(look)
  if heir then
    host, client = string.sub(heir, 53, string.find(heir, '/', 53, true)), string.sub(heir, -32)
  end
  if looker ~= '-' and at > now - SLACK and at <= till + SLACK then
    promised = apart(looker, 33, host, client)
  end
  for _ = 1, promised < 2 and AT_MOST or 0 do
    local last = redis.call('ZRANGE', KEYS[3], '-4', '-1')
    local best, distance = nil, promised
    for i = #last, 1, -1 do
      local d = apart(last[i], 53, host, client)
      if d > distance then
        best, distance = last[i], d
      end
    end
    if not best then
      return
    end
    local token, place = string.sub(best, 1, 32), string.match(best, '^[^/]*/', 53)
    local channel = string.sub(best, string.find(best, ' ', 53, true) + 1)
    local heard = tell(channel, token .. string.format(' look %d', till - now))
    if heard ~= 0 then
      if heard then
        looker, look = token .. place .. string.sub(best, -32), moment(till)
      end
      return
    end
    redis.call('ZREM', KEYS[3], best)
  end
end
