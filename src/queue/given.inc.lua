-- What the token was given, in a request or by a hand-over of which the caller never heard.

local last = string.format('%d', now + ARGV[2])
for _, member in ipairs(redis.call('ZRANGE', KEYS[5], last, '(' .. stamp, 'BYSCORE', 'REV',
                                   'LIMIT', 0, 10000)) do
  if string.sub(member, 14) == ARGV[1] then
    ids[#ids + 1] = string.sub(member, 1, 13)
  end
end
table.sort(ids)
