-- What is counted for an ad, and what follows from it.
-- include: rate
-- include: return

local function check_numbers(key, fields)
  for _, text in ipairs(redis.call('HMGET', key, unpack(fields))) do
    if text and (not string.find(text, '^%-?%d+$') or #text > LONGEST_NUMBER) then
      damaged_number(key)
    end
  end
end

-- Refuses numbers that another program has spoiled before anything is written: those that a view, a
-- click or an action adds to.
local function check_counts(what, type, ad, words)
  check_numbers(META, {type .. ' ' .. what})
  check_numbers(COUNTS, {what .. ':' .. ad, 'spent:' .. ad})
  local fields = {}
  for _, word in ipairs(words) do
    fields[#fields + 1] = of_word(what, word, ad)
    fields[#fields + 1] = of_word('spent', word, ad)
  end
  if #fields > 0 then
    check_numbers(WORDS, fields)
  end
end

local function count(what, ad, words)
  local total = increase(COUNTS, what .. ':' .. ad, 1)
  for _, word in ipairs(words) do
    increase(WORDS, of_word(what, word, ad), 1)
  end
  return total
end

-- Charges the ad, and notes the amount for the words that matched. Returns what is spent today.
local function pay(ad, terms, words, cost, clock)
  local charged, spent = charge(ad, terms, cost, clock)
  if charged > 0 then
    for _, word in ipairs(words) do
      increase(WORDS, of_word('spent', word, ad), charged)
    end
  end
  return spent
end

-- After something was counted or spent: new eCPMs if asked, and out of the index if the budget is
-- spent. `spent`: today; nil: nothing was spent.
local function settle(ad, terms, values, again, spent, clock)
  local due = spent and closed_until(terms, spent, clock)
  if not again and not due then
    return
  end
  local shown = not redis.call('ZSCORE', DUE, ad)
  local old = shown and place_of(terms, values) or {}
  if again then
    compute(ad, terms, values)
    write_values(ad, values)
  end
  if due then
    redis.call('ZADD', DUE, due, ad)
  end
  move(ad, old, shown and not due and place_of(terms, values) or {})
end

-- An ad gets the last turn.
local function put_last(ad)
  redis.call('ZADD', TURN, increase(META, 'turn', 1), ad)
end

-- Computes the eCPMs of the ad whose turn it is: averages have changed since they were computed
-- last, and an ad that is not shown would never notice.
local function renew(clock)
  local ad = redis.call('ZRANGE', TURN, 0, 0)[1]
  local terms = ad and read_terms(ad)
  if terms then
    put_last(ad)
    settle(ad, terms, read_values(ad), true, nil, clock)
  elseif ad then
    redis.call('ZREM', TURN, ad)
  end
end
