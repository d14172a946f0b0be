-- Jobs that were done, in runs: what was claimed together stands together in :a, in the same order, so
-- that to compare it is enough to see that the claims are valid; and much cheaper than to ask for each.
-- `finished` are those whose claims are valid, and `rich` those of them that are; the places of the
-- others go into `stale`.

if string.byte(ARGV[7]) == 114 then -- must not fail later
  redis.call('HLEN', EXTRAS)
  redis.call('HLEN', UNIQUE)
  redis.call('HLEN', GROUPS)
  for _, key in ipairs({READY, DELAYED, PARKED, FLOW}) do
    redis.call('ZCARD', key)
  end
end
local sub, finished, rich, bytes, n, at = string.sub, {}, {}, tonumber(ARGV[6]), 0, 7
while at < #ARGV do
  local is_rich = string.byte(ARGV[at]) == 114
  local count = tonumber(is_rich and sub(ARGV[at], 2) or ARGV[at])
  local rank = count > 1 and redis.call('ZRANK', KEYS[5], ARGV[at + 1])
  local run = rank and redis.call('ZRANGE', KEYS[5], rank, rank + count - 1) or {}
  local same = 0
  while same < count and run[same + 1] == ARGV[at + same + 1] do
    same = same + 1
  end
  if rank and same == count then
    redis.call('ZREMRANGEBYRANK', KEYS[5], rank, rank + count - 1)
  end
  for i = at + 1, at + count do
    if same == count or redis.call('ZREM', KEYS[5], ARGV[i]) == 1 then
      n = n + 1
      finished[n] = sub(ARGV[i], 1, 13)
      rich[#rich + 1] = is_rich and finished[n] or nil
    else
      stale[#stale + 1] = n + #stale + 1
    end
  end
  at = at + count + 1
end
if stale[1] then -- their bytes do not count
  bytes = 0
  for _, id in ipairs(finished) do
    bytes = bytes + redis.call('HSTRLEN', KEYS[2], id)
  end
end
