-- The end of a holder's lease, and its "fence since who"; nil when it holds nothing.

local function find(token)
  if x then
    if string.sub(x, 18, 49) == token then
      return tonumber(string.sub(x, 1, 16)), string.sub(x, 53)
    end
    return nil
  end
  local till = sharing ~= 0 and redis.call('ZSCORE', KEYS[2], token)
  local card = till and redis.call('HGET', KEYS[4], token)
  if card then
    return tonumber(till), card
  end
end
