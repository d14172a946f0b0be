-- Receivers among the arguments of a script.
-- include: keys

local receivers = {}

-- The receivers args[first] to args[last], each behind its score, for ZADD.
function receivers.with_score(args, score, first, last)
  local words = {}
  for i = first, last do
    words[#words + 1] = score
    words[#words + 1] = args[i]
  end
  return words
end

-- Adds the receivers args[first] to args[last] to the list, unless they are in it.
function receivers.note(args, first, last)
  redis.call('ZADD', RECEIVERS, 'NX', unpack(receivers.with_score(args, now, first, last)))
end
