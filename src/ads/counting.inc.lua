-- Counting views, clicks and actions of ads, charging the ads, and updating their eCPMs.
-- include: rates
-- include: returns

local counting = {}

-- Rejects fields that are not whole numbers.
function counting.check_numbers(key, fields)
  for _, text in ipairs(redis.call('HMGET', key, unpack(fields))) do
    if text and (not string.find(text, '^%-?%d+$') or #text > LONGEST_NUMBER) then
      records.damaged_number(key)
    end
  end
end

-- Rejects damaged numbers before anything is written: all numbers that a view, a click or an action
-- increases.
function counting.check_counts(what, type, ad, words)
  counting.check_numbers(META, {type .. ' ' .. what})
  counting.check_numbers(COUNTS, {what .. ':' .. ad, 'spent:' .. ad})
  local fields = {}
  for _, word in ipairs(words) do
    fields[#fields + 1] = records.of_word(what, word, ad)
    fields[#fields + 1] = records.of_word('spent', word, ad)
  end
  if #fields > 0 then
    counting.check_numbers(WORDS, fields)
  end
end

-- Counts an event for an ad and its matching words. Returns the new count of the ad.
function counting.count(what, ad, words)
  local total = records.increase(COUNTS, what .. ':' .. ad, 1)
  for _, word in ipairs(words) do
    records.increase(WORDS, records.of_word(what, word, ad), 1)
  end
  return total
end

-- Charges the ad, and adds the amount to its matching words. Returns the amount spent today.
function counting.pay(ad, terms, words, cost, calendar)
  local charged, spent = money.charge(ad, terms, cost, calendar)
  if charged > 0 then
    for _, word in ipairs(words) do
      records.increase(WORDS, records.of_word('spent', word, ad), charged)
    end
  end
  return spent
end

-- Updates an ad after an event: computes its eCPMs if `again` is true, and takes it out of the
-- index if its budget is spent. `spent`: amount spent today; nil: nothing was spent.
function counting.settle(ad, terms, values, again, spent, calendar)
  local due = spent and money.closed_until(terms, spent, calendar)
  if not again and not due then
    return
  end
  local shown = not redis.call('ZSCORE', DUE, ad)
  local old = shown and index.place_of(terms, values) or {}
  if again then
    rates.compute(ad, terms, values)
    records.write_values(ad, values)
  end
  if due then
    redis.call('ZADD', DUE, due, ad)
  end
  index.move(ad, old, shown and not due and index.place_of(terms, values) or {})
end

-- Moves an ad to the end of :turn.
function counting.put_last(ad)
  redis.call('ZADD', TURN, records.increase(META, 'turn', 1), ad)
end

-- Computes the eCPMs of the first ad in :turn. Averages have changed since its last turn, and the
-- eCPMs of an ad that is not shown would never be updated otherwise.
function counting.renew(calendar)
  local ad = redis.call('ZRANGE', TURN, 0, 0)[1]
  local terms = ad and records.read_terms(ad)
  if terms then
    counting.put_last(ad)
    counting.settle(ad, terms, records.read_values(ad), true, nil, calendar)
  elseif ad then
    redis.call('ZREM', TURN, ad)
  end
end
