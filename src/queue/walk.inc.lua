-- Walks through sorted sets in steps. A walk goes on behind the last member that it saw, whether
-- that member is still there or not, and passes by no member that is there from beginning to end.
-- include: keys

local walk = {}

-- Whether one text comes before another one in a sorted set: by bytes. The comparison of Lua
-- depends on the locale of the server.
function walk.is_before(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end

-- Whether a walk up to `last` has passed a member.
function walk.has_passed(score, member, last, order)
  if score ~= last.score then
    return (score < last.score) == (order ~= 'REV')
  elseif order == 'REV' then
    return not walk.is_before(member, last.member)
  end
  return not walk.is_before(last.member, member)
end

-- The members of these ranks, with their scores.
function walk.range(key, first, last, order)
  return redis.call('ZRANGE', key, first, last, unpack({'WITHSCORES', order}))
end

-- How many members a walk has passed. Each look halves the members that are in question, so there
-- are at most 32.
function walk.passed(key, last, order)
  local low, high = 0, redis.call('ZCARD', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = walk.range(key, middle, middle, order)
    if walk.has_passed(tonumber(found[2]), found[1], last, order) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- The next members with their scores, `most` of them. `last`: {score, member} at the end of the
-- step before; nil at the beginning. `order`: 'REV' from the highest score down; nil upwards.
function walk.step(key, last, most, order)
  local first = last and walk.passed(key, last, order) or 0
  return walk.range(key, first, first + most - 1, order)
end

-- The end of a step as text, "score:member" with the member in hex, and the other way round; nil
-- for any other text.
function walk.text(score, member)
  return score .. ':' .. string.gsub(member, '.', function(byte)
    return string.format('%02x', string.byte(byte))
  end)
end

function walk.read(text)
  local score, member = string.match(text, '^([^:]+):(%x+)$')
  return tonumber(score) and {score = tonumber(score), member = string.gsub(member, '%x%x',
    function(byte)
      return string.char(tonumber(byte, 16))
    end)} or nil
end
