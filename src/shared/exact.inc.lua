-- Up to here whole numbers are exact: Lua's numbers are doubles.
local EXACT = 2 ^ 53
