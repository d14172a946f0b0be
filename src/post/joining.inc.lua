-- Joining a chat. A chat and the lists of chats of its members live in different slots: see the
-- essay of chat.c.
-- include: keys

local joining = {}

local REFUSED = KEYS[6] -- hash: a stranger, and the time of the entry removed from its list
local JOIN_WITHIN = 600000 -- milliseconds: 10 minutes

-- Whether the entry in the member's list may be removed before this script adds the member. The
-- exact time identifies an entry, so REFUSED is compared for equality: the clock may have been set
-- back, and a later entry may have an earlier time.
function joining.is_stale(member, listed)
  return now > listed + JOIN_WITHIN or redis.call('HGET', REFUSED, member) == listed
end
