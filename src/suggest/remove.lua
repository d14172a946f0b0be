-- suggest/remove: forget texts.
-- KEYS[1...] suggestions  see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3] best_max  texts that a prefix keeps
-- ARGV[4...] gone   keys
-- flags: allow-oom
-- returns how many existed, or the settings when the caller's differ
-- include: keys
-- include: fed

local FIRST_KEY = 4 -- index of the first key in the arguments
local settings, ttl, best_max = ARGV[1], ARGV[2], tonumber(ARGV[3])
local longest = fed.longest_of(settings)
local keys = {unpack(ARGV, FIRST_KEY)}

local stored = redis.call('HGET', META, 'settings')
if stored and stored ~= settings then
  return stored
end
fed.check_keys(stored)
for _, key in ipairs(keys) do
  fed.score_of(key) -- ends the script before any write if the data are damaged
end
local removed = 0
for _, key in ipairs(keys) do
  local score = fed.score_of(key)
  if score then
    fed.remove(key, score, best_max, longest)
    removed = removed + 1
  end
end
if removed > 0 then
  fed.expire_in(ttl)
end
return removed
