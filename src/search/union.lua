-- search/union: the bitmap of the documents that have one of many terms, a step of it.
-- KEYS[1] meta    hash: token, version, next
-- KEYS[2] live    bitmap of the numbers that can be found
-- KEYS[3] common  hash: term that has a bitmap, count
-- KEYS[4] bits    the bitmap while it is made
-- KEYS[5] made    the bitmap when it is made
-- KEYS[6...] terms  keys of the terms that are left
-- ARGV[1] token   of the index
-- ARGV[2] skip    bytes of a term's key before the term
-- ARGV[3] from    terms that are there already
-- ARGV[4] is_last  1: no terms come behind these
-- ARGV[5] ttl     milliseconds that the bitmap is kept
-- returns 'stale', or {version, terms to go on with or -1}

local META, LIVE, COMMON, BITS, MADE = unpack(KEYS)
-- include: made
-- include: plan
local FIRST_TERM = 6
local STEP_WORK = 3000

local token, skip, from = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local is_last, ttl = ARGV[4] == '1', ARGV[5]
local stored, version, next_number = unpack(redis.call('HMGET', META, 'token', 'version', 'next'))
if stored ~= token then
  return 'stale'
end
version, next_number = version or '0', tonumber(next_number or 0)
if is_made(from, ttl) then
  return {version, -1}
end

-- The first terms, as many as a step has time for: at most STEP_WORK and one more.
local terms, keys, work, done = term_operands(FIRST_TERM, skip, next_number), {BITS}, 0, 0
while done < #terms and work < STEP_WORK do
  done = done + 1
  local term = terms[done]
  if term.bits then
    keys[#keys + 1] = term.key
  elseif term.size > 0 then
    set_numbers(BITS, members(term), '1', next_number)
  end
  work = work + or_work({term}, {bits_work = bits_work(next_number)})
end
if #keys > 1 then
  combine_bits('OR', BITS, keys)
end
if is_last and done == #terms then
  finish(ttl)
  return {version, -1}
end
redis.call('PEXPIRE', BITS, ttl)
return {version, from + done}
