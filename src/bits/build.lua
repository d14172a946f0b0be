-- bits/build: write a piece of a new value; with the last piece it takes the place of the old one.
-- KEYS[1] own    bitmap
-- KEYS[2] draft  the new value until it is whole; it ends when nobody goes on with it
-- ARGV[1] at     byte at which the piece begins: pieces come in order
-- ARGV[2] piece  bytes
-- ARGV[3] last   1 or 0
-- returns how many bytes there are; -1 when the draft has ended meanwhile

if redis.call('STRLEN', KEYS[2]) < tonumber(ARGV[1]) then
  return -1
end
local size = redis.call('SETRANGE', KEYS[2], ARGV[1], ARGV[2])
if ARGV[3] == '1' then
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('PERSIST', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[2], '60000')
end
return size
