-- Walks through sorted sets in steps. A walk goes on behind the last member that it saw, whether
-- that member is still there or not, and skips no member that is there from beginning to end.
-- include: keys
-- include: shared/ranked

local walk = {}

-- Whether a walk up to `last` has passed a member.
function walk.has_passed(score, member, last, order)
  if score ~= last.score then
    return (score < last.score) == (order ~= 'REV')
  elseif order == 'REV' then
    return not ranked.is_before(member, last.member)
  end
  return not ranked.is_before(last.member, member)
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

-- Calls handle(member, score) for the next members, `most` of them, until it returns true: enough.
-- Returns how many there were, and the cursor to go on with; '' when that was all.
function walk.each(key, cursor, most, order, handle)
  local step = walk.step(key, walk.read(cursor), most, order)
  for i = 1, #step, 2 do
    if handle(step[i], step[i + 1]) or i + 1 == 2 * most then
      return (i + 1) / 2, walk.text(step[i + 1], step[i])
    end
  end
  return #step / 2, ''
end

-- Calls handle(member, score) for the members that `ids` names, with spaces between them, or
-- without any for the next members. Returns the same as walk.each().
function walk.chosen(key, ids, cursor, most, order, handle)
  if ids == '' then
    return walk.each(key, cursor, most, order, handle)
  end
  local looked_at = 0
  for id in string.gmatch(ids, '%x+') do
    local score = redis.call('ZSCORE', key, id)
    looked_at = looked_at + 1
    if score then
      handle(id, score)
    end
  end
  return looked_at, ''
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
