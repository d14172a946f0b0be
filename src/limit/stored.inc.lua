-- Reads the numbers of stored states of limits, and refuses states that tackle did not write.
-- include: shared/decimal

local stored = {}

local OTHER = 'WRONGTYPE the key is in use by another kind of limit'
local DAMAGED = 'DAMAGED the state of the limit is not what tackle writes'
local IS_KIND = {gcra = true, bucket = true, window = true, approx = true, concurrency = true}

-- Ends the script: the state belongs to another kind of limit, or is damaged.
function stored.refuse(found)
  error({err = IS_KIND[found] and OTHER or DAMAGED})
end

-- Splits the text of a state into its numbers and the rule of the last check that wrote it, "count
-- period capacity". The rule is nil in states of versions that did not store it.
function stored.split(text)
  local body, rule = string.match(text, '^(.*) / (%d+ %d+ %d+)$')
  return body or text, rule
end

-- The ending of a state that names its rule.
function stored.ending(rule)
  return rule and ' / ' .. rule or ''
end

-- The numbers of a state that is stored as "kind number number ...", all of them exact. One of the
-- patterns must match.
function stored.numbers(text, kind, patterns)
  local found = {string.match(text, patterns[1])}
  if not found[1] and patterns[2] then
    found = {string.match(text, patterns[2])}
  end
  if found[1] ~= kind then
    local first = string.match(text, '^%a+')
    stored.refuse(first ~= kind and first)
  end
  for i = 2, #found do
    found[i] = tonumber(found[i])
    if found[i] > EXACT then
      stored.refuse()
    end
  end
  return unpack(found, 2)
end
