-- Results, as TKL_CODES of tackle/common.h has them.

local TKL_OK, TKL_BUSY, TKL_EMPTY, TKL_NOTFOUND, TKL_FULL = 0, 1, 2, 4, 5
local TKL_NOTOWNER, TKL_EXISTS, TKL_DEAD, TKL_CONFLICT, TKL_EUNKNOWN = 6, 7, 8, 9, -5
