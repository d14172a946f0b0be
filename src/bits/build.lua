-- bits/build: write a piece of a new value. With its last piece the new value replaces the old one.
-- KEYS[1] own    bitmap
-- KEYS[2] draft  the new value until it is whole; it expires when no more pieces come
-- ARGV[1] at     byte at which the piece begins: pieces come in order
-- ARGV[2] piece  bytes
-- ARGV[3] last   1 or 0
-- ARGV[4] ttl    of the bitmap in milliseconds; 0: it stays
-- returns how many bytes the draft has; -1 when it has expired meanwhile
-- include: shared/expiry

local DRAFT_MS = '60000' -- how long a draft waits for its next piece
local OWN, DRAFT = KEYS[1], KEYS[2]
local at, piece, last, ttl = unpack(ARGV)

if redis.call('STRLEN', DRAFT) < tonumber(at) then
  return -1
end
local size = redis.call('SETRANGE', DRAFT, at, piece)
if last == '0' then
  redis.call('PEXPIRE', DRAFT, DRAFT_MS)
  return size
end
redis.call('RENAME', DRAFT, OWN)
expiry.set(OWN, ttl)
return size
