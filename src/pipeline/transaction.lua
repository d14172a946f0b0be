-- pipeline/transaction: run commands one after the other, with nothing in between.
-- ARGV[1...] words  of each command: how many they are, and the words
-- returns the reply of each command; an error does not keep the next ones from running

-- The caller passes the keys of all commands: a cluster checks that they are all here.
local replies, at = {}, 1
while ARGV[at] do
  local last = at + tonumber(ARGV[at])
  replies[#replies + 1] = redis.pcall(unpack(ARGV, at + 1, last))
  at = last + 1
end
return replies
