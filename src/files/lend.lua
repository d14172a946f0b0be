-- files/lend: renew the lease of a sender.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, and how far its
--   receivers are
-- ARGV[1] token
-- ARGV[2] holder
-- flags: allow-oom
-- returns code: TKL_NOTOWNER the file is gone, complete, or another process sends it
-- include: shared/clock
-- include: keys
-- include: records
-- include: deadlines

now = clock.ms()
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
local token, holder = unpack(ARGV)

local file = records.read(FILE)
if not file or file.state ~= 'open' or file.holder ~= holder then
  return TKL_NOTOWNER
end
deadlines.note_lease(token, file, FILE)
records.keep(FILE, AT, file)
return TKL_OK
