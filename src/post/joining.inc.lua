-- Joining a chat. A chat and the lists of chats of its members live in different slots: see the
-- essay of chat.c.
-- include: keys

local joining = {}

local REFUSED = KEYS[6] -- hash: a stranger, and the time of the entry removed from its list
local JOIN_WITHIN = 600000 -- milliseconds: 10 minutes
local US_IN_MS = 1000

-- Whether the entry in the member's list may be removed before this script adds the member. The
-- exact time identifies an entry, so REFUSED is compared for equality: the clock may have been set
-- back, and a later entry may have an earlier time.
function joining.is_stale(member, listed)
  return joining.is_any_stale({member}, {listed})
end

-- Whether one of the entries of these members may be removed. `listed`: the times of the entries in
-- microseconds, in the same order.
function joining.is_any_stale(members, listed)
  local first = listed[1]
  for _, time in ipairs(listed) do
    first = math.min(first, time)
  end
  if now > first / US_IN_MS + JOIN_WITHIN then
    return true
  end
  for i, refused in ipairs(redis.call('HMGET', REFUSED, unpack(members))) do
    if refused == listed[i] then
      return true
    end
  end
  return false
end
