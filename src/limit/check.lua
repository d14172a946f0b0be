-- limit/check: take from all of these limits, or from none of them.
-- KEYS[1...] states
-- ARGV[1] take  1; 0: only look
-- ARGV[2...] nine for each key:
--   kind      gcra, bucket, window, approx or concurrency
--   quantity  to take; 0 only looks whether one would fit
--   capacity  the most that fits at once
--   unit      of gcra and bucket: the debt of one; of others: the period in microseconds
--   rate      of gcra and bucket: by which the debt shrinks in a microsecond; of others: 0
--   ticket    of window and concurrency; of others ''
--   ahead     microseconds that may be booked ahead; of approx and concurrency: 0
--   rule      "count period capacity", the period in milliseconds; stored for limit/show
--   charges   1: the quantity also counts when it is denied; 0 of concurrency
-- returns for each key five numbers: 1 or 0 for whether it fits there; how many more would fit; and
-- microseconds until what was taken may be used, until the quantity fits, until all is unused
-- include: shared/clock
-- include: methods

local FIRST, ARGUMENTS = 2, 9 -- in ARGV: where a key's arguments begin, and how many

now = clock.us()

-- The rule of the key with this number.
local function read_rule(i)
  local first = FIRST + (i - 1) * ARGUMENTS
  local kind, quantity, capacity, unit, rate, ticket, ahead, text, charges =
      unpack(ARGV, first, first + ARGUMENTS - 1)
  return {key = KEYS[i], kind = kind, only_looks = quantity == '0',
          quantity = math.max(1, tonumber(quantity)), capacity = tonumber(capacity),
          unit = tonumber(unit), rate = tonumber(rate), ticket = ticket, ahead = tonumber(ahead),
          text = text, charges = charges == '1' and quantity ~= '0'}
end

local answer = #KEYS == 1 and methods.check_alone(KEYS[1], unpack(ARGV))
if answer then
  return answer
end

local rules, all_fit = {}, true
for i = 1, #KEYS do
  rules[i] = read_rule(i)
  rules[i].fits = METHODS[rules[i].kind].look(rules[i])
  all_fit = all_fit and rules[i].fits
end

local takes = ARGV[1] == '1' and all_fit
local denied = ARGV[1] == '1' and not all_fit
answer = {}
for i, rule in ipairs(rules) do
  local method, at = METHODS[rule.kind], 5 * (i - 1)
  if takes and not rule.only_looks then
    method.take(rule)
  elseif denied and rule.charges then
    method.charge(rule)
  end
  local room, usable_in, fits_in, unused_in = method.tell(rule)
  answer[at + 1] = rule.fits and 1 or 0
  answer[at + 2] = math.min(room, EXACT)
  answer[at + 3] = takes and math.min(usable_in, EXACT) or 0
  answer[at + 4] = math.min(fits_in, EXACT)
  answer[at + 5] = math.min(unused_in, EXACT)
end
return answer
