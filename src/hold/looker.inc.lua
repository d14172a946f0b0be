-- Telling those who wait, and which of them looks.

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

-- A sign of life of the line, which stays for a quarter of an hour then.
local function keep_line()
  redis.call('PEXPIRE', KEYS[3], '900000')
  kept = string.format('%010d', now_ms / 1000 + 60)
end

local function forget_looker(token)
  if string.sub(looker, 1, 32) == token then
    look, looker = NONE, '-'
  end
end

-- "token client host/" of one in the line, as the record names its looker.
local function name_of(one)
  return string.sub(one, 1, 32) .. string.sub(one, -32) .. string.match(one, '^[^/]*/', 53)
end

-- A machine that dies takes all of its waiters along, and so does a client, with which the channel
-- ends: how far apart are two of such names? The more the better; and what is the most that the line
-- has to offer?
local FARTHEST = {['-'] = -1, c = 0, h = 1, m = 2}
local function apart(one, other)
  if string.sub(one, 65) ~= string.sub(other, 65) then
    return 2
  end
  return string.sub(one, 33, 64) ~= string.sub(other, 33, 64) and 1 or 0
end

-- A lease that ends earlier than those who wait expect: tells one of them, unless one who does not
-- share the fate of the heir has promised to look in time. Of the last four, since they will wait
-- longest, the one farthest from the heir.
local function appoint(till, heir)
  local SLACK = 100000
  local promised, at = -1, tonumber(look)
  heir = heir and name_of(heir) or ''
  if looker ~= '-' and at > now - SLACK and at <= till + SLACK then
    promised = apart(looker, heir)
  end
  for _ = 1, promised < FARTHEST[waits] and AT_MOST or 0 do
    local last = redis.call('LRANGE', KEYS[3], '-4', '-1')
    local best, distance = nil, promised
    for i = #last, 1, -1 do
      local d = apart(name_of(last[i]), heir)
      if d > distance then
        best, distance = last[i], d
      end
    end
    if not best then
      return
    end
    keep_line()
    local channel = string.sub(best, string.find(best, ' ', 53, true) + 1)
    local heard = tell(channel, string.sub(best, 1, 32) .. string.format(' look %d', till - now))
    if heard ~= 0 then
      if heard then
        looker, look = name_of(best), moment(till)
      end
      return
    end
    redis.call('LREM', KEYS[3], -1, best)
  end
end
