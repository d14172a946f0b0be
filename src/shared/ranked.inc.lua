-- Sorted sets: members by scores that are times or other whole numbers, and members of one score.
-- include: shared/decimal

local ranked = {}

-- The first members with at most this score, `most` of them. With 'WITHSCORES' behind, each is
-- followed by its score.
function ranked.up_to(key, score, most, ...)
  return redis.call('ZRANGE', key, '-inf', decimal.whole(score), 'BYSCORE', 'LIMIT', 0, most, ...)
end

-- Whether one member stands before another with the same score: by bytes. The comparison of Lua
-- depends on the locale of the server.
function ranked.is_before(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end
