-- Telling those who wait.

local SLACK = 100000
local LOOKERS = 4

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

-- Of one who waits: its token, its client, with which the channel ends, and its host.
local function known(place)
  local host = string.match(place, '^%S+ ([^/]*)', 36)
  return string.sub(place, 1, 32) .. string.sub(place, -32) .. host
end

-- A machine that dies takes all of its waiters along, and so does a client: how far apart are two?
local function apart(one, other)
  if string.sub(one, 65) ~= string.sub(other, 65) then
    return 2
  end
  return string.sub(one, 33, 64) ~= string.sub(other, 33, 64) and 1 or 0
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time. Of the last few, since they will wait
-- longest, the one farthest from the heir.
local function appoint(till, heir)
  heir = heir and known(heir) or ''
  local promised = -1
  if looker ~= '-' and look > now - SLACK and look <= till + SLACK then
    promised = apart(looker, heir)
  end
  for _ = 1, promised < 2 and AT_MOST or 0 do
    local last = redis.call('ZRANGE', KEYS[3], -LOOKERS, -1)
    local best, distance = nil, promised
    for i = #last, 1, -1 do
      local d = apart(known(last[i]), heir)
      if d > distance then
        best, distance = last[i], d
      end
    end
    if not best then
      return
    end
    local channel = string.match(best, '^%S+ %S+ (.*)$', 36)
    local heard = tell(channel, string.sub(best, 1, 32) .. string.format(' look %d', till - now))
    if heard ~= 0 then
      looker, look = heard and known(best) or looker, heard and till or look
      return
    end
    redis.call('ZREM', KEYS[3], best)
  end
end
