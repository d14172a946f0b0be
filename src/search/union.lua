-- search/union: one step of making the bitmap of the documents that have one of many terms.
-- KEYS[1...] shard  see keys.inc.lua; then the bitmap while it is made, and the complete bitmap;
--   then the keys of the terms that are left
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- ARGV[3] from    how many terms the bitmap has already
-- ARGV[4] is_last  1: these are the last terms
-- ARGV[5] ttl     milliseconds that the bitmap is kept
-- flags: allow-oom
-- returns 'stale', or {version, how many terms the bitmap has, or -1 when it is complete}
-- include: keys
-- include: making
-- include: plans

local FIRST_TERM = SHARD_KEYS + 3
local STEP_WORK = 2000 -- microseconds, as estimated by plans.inc.lua
local BITS, MADE = KEYS[SHARD_KEYS + 1], KEYS[SHARD_KEYS + 2]
local token, skip, from, is_last, ttl = unpack(ARGV)
skip, from = tonumber(skip), tonumber(from)

local index = indexes.read()
if index.token ~= token then
  return 'stale'
elseif making.is_made(BITS, MADE, from == 0, ttl) then
  return {index.version, -1}
end

-- The first terms, as many as a step has time for: at most STEP_WORK and one more.
local terms = plans.term_operands(KEYS, FIRST_TERM, skip, index.next)
local keys, work, done = {BITS}, 0, 0
while done < #terms and work < STEP_WORK do
  done = done + 1
  local term = terms[done]
  if term.bits then
    keys[#keys + 1] = term.key
  elseif term.size > 0 then
    sets.set_numbers(BITS, sets.members(term), '1', index.next)
  end
  work = work + plans.or_work({term}, {bits_work = works.of_bits(index.next)})
end
if #keys > 1 then
  sets.combine_bits('OR', BITS, keys)
end
if is_last == '1' and done == #terms then
  making.finish(BITS, MADE, ttl)
  return {index.version, -1}
end
redis.call('PEXPIRE', BITS, ttl)
return {index.version, from + done}
