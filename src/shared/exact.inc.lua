-- Up to here whole numbers are exact: Lua's numbers are doubles. So are math.floor(a / b) and
-- math.ceil(a / b) of them: the quotient is off by less than the 1 / b that it can be from a whole
-- number.
local EXACT = 2 ^ 53
