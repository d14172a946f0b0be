-- suggest/remove: forget texts.
-- KEYS[1...] suggestions  see keys.inc.lua
-- ARGV[1] settings  of the caller
-- ARGV[2] ttl       milliseconds, or 0
-- ARGV[3] best_max  texts that a prefix keeps
-- ARGV[4...] gone   keys
-- returns how many were there, or the settings when they are others

-- include: keys
-- include: texts

local FIRST_KEY = 4 -- of the arguments
local settings, ttl, best_max = ARGV[1], ARGV[2], tonumber(ARGV[3])
local keys = {unpack(ARGV, FIRST_KEY)}
local stored = redis.call('HGET', META, 'settings')
if stored and stored ~= settings then
  return stored
end
check_keys(stored)
for _, key in ipairs(keys) do
  score_of(key) -- damaged: nothing happens
end
local removed = 0
for _, key in ipairs(keys) do
  local score = score_of(key)
  if score then
    take_out(key, score, best_max)
    removed = removed + 1
  end
end
if removed > 0 then
  expire_in(ttl)
end
return removed
