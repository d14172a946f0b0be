-- files/lend: renew the lease of a sender.
-- KEYS[1...] channel  see keys.inc.lua; then the record of the file, and how far its
--   receivers are
-- ARGV[1] token
-- ARGV[2] holder
-- returns code: TKL_NOTOWNER the file is gone, complete, or another process sends it
-- include: shared/clock
local now = clock_ms()
-- include: keys
local FILE, AT = unpack(KEYS, CHANNEL_KEYS + 1)
-- include: shared/codes
-- include: file
-- include: overdue

local token, holder = unpack(ARGV)
local file = read_file(FILE)
if not file or file.state ~= 'open' or file.holder ~= holder then
  return TKL_NOTOWNER
end
permit_writes(FILE)
note_lease(token, file, FILE)
keep_file(FILE, AT, file)
return TKL_OK
