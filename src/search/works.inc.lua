-- The costs of commands, in microseconds. Work is estimated before it is done.
-- include: bitmaps

local works = {}

local NUMBER_WORK = 1.5     -- takes a number out of a set and sets its bit in a bitmap
local LISTED_WORK = 0.6     -- sets the bit of a number that was read already
local TEST_WORK = 0.2       -- looks up a number in a set or a range
local BIT_WORK = 0.6        -- looks up a number in a bitmap
local CALL_WORK = 1         -- each command, in addition
local BYTES_PER_WORK = 2400 -- bytes of a bitmap that are combined with others, or counted

-- The work of combining a bitmap with others when all numbers are below `next`.
function works.of_bits(next)
  return next / BYTE_BITS / BYTES_PER_WORK
end
