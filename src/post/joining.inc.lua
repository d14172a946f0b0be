-- Chats and the lists of chats that members have live in different slots. See the essay of chat.c.

local JOIN_WITHIN = 600000 -- milliseconds: 10 minutes

-- Whether the entry in the member's list may be removed before this script has made it true.
local function is_stale(listed)
  return now > listed + JOIN_WITHIN
end
