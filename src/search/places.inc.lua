-- Places: positions in a sorted set from which the next script goes on. A place is a score and a
-- member. Ranks shift while others write, but a member never changes its side of a place, even when
-- the member of the place is gone. A place goes to the client and back as text; '' is the
-- beginning.
-- include: shared/ranked

local places = {}

-- The place of a member.
function places.of(key, member)
  return cmsgpack.pack({redis.call('ZSCORE', key, member), member})
end

-- Returns how many members stand before a place, how many stand before and on it (one more, unless
-- its member is gone), and its score.
function places.ranks(key, place)
  local score, member = unpack(cmsgpack.unpack(place))
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  local rank = redis.call('ZRANK', key, member)
  if rank and rank >= low and rank < high then
    return rank, rank + 1, score
  end
  -- At most 64 rounds: each halves the members of this score that are left.
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ranked.is_before(redis.call('ZRANGE', key, middle, middle)[1], member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low, low, score
end
