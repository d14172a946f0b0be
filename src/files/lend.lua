-- files/lend: renew the lease of a sender.
-- KEYS[1] ends  zset; see files.c for all of them
-- KEYS[2] file  hash
-- KEYS[3] at    zset
-- ARGV[1] token
-- ARGV[2] holder
-- returns code: TKL_NOTOWNER the file is gone, complete, or another process sends it
-- include: shared/clock
local now = clock_ms()
local ENDS, FILE, AT = unpack(KEYS)
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
