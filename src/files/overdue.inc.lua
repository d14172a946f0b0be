-- Files that may be given up. The key ENDS is the script's.

-- A file whose time is over, or ''; and in how many ms the next one's is, or -1.
local function overdue_file()
  local first = redis.call('ZRANGE', ENDS, 0, 0, 'WITHSCORES')
  if not first[1] then
    return '', -1
  end
  local left = math.ceil(tonumber(first[2]) - now)
  return left <= 0 and first[1] or '', math.max(left, 0)
end
