-- The most frequent of many, in a sorted set with room for some of them: Space-Saving, by Metwally,
-- Agrawal and El Abbadi (2005). A newcomer to a full set takes the place of the member with the
-- lowest count, and its count as well: perhaps the newcomer had a place before, and lost it. So
--   - no count is too low, and none is too high by more than the bound;
--   - every member that was counted more often than the bound is in the set;
--   - the bound is at most the sum of all counts, divided by the room.
-- The bound is the highest count that has ever lost its place. The caller keeps it beside the set.
-- include: shared/decimal

local frequent = {}

local REMOVED_AT_ONCE = 10 -- most members that a call removes when the set had more room before

-- Gives a place to a member that has none, with its first score. `add` adds two scores. Returns the
-- bound, and the members that lost their places.
function frequent.give_place(set, member, score, room, bound, add)
  local beyond = math.min(redis.call('ZCARD', set) - room + 1, REMOVED_AT_ONCE)
  local lowest = beyond > 0 and redis.call('ZRANGE', set, 0, beyond - 1, 'WITHSCORES') or {}
  local members = {}
  for i = 1, #lowest, 2 do
    members[#members + 1] = lowest[i]
    bound = math.max(bound, lowest[i + 1])
  end
  redis.call('ZADD', set, decimal.exact(add(bound, score)), member)
  if members[1] then
    redis.call('ZREM', set, unpack(members))
  end
  return bound, members
end
