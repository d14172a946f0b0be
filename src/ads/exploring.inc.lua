-- Exploring. An ad with few views may be better than its counts say. So ads compete by a bound: the
-- highest value that their eCPM may still have. The bound sinks towards the eCPM with each view, so
-- each ad is tried until it can hardly be the best.
--
-- The bound of a rate is the upper end of a Poisson confidence interval (to the second order), with
-- `weight` events at the expected rate added to what was counted:
--
--   seen  = events + weight
--   bound = (seen + margin * sqrt(seen) + margin^2 / 3) / (views + weight / expected)
--
-- The margin is a number of standard deviations. It grows with the logarithm of the events that all
-- views of the set were worth, as in every method with an upper confidence bound. So no ad is given
-- up for ever. The more ads there are, the smaller the margin is: trying all of them costs more,
-- and missing the best one costs less, because others are nearly as good.
--
-- The expected rate of an ad is the average of its type, but only once the ad itself has enough
-- views: where poor ads make the average, a good ad would never be tried beside an ad that is paid
-- by view.
-- include: records

local exploring = {}

local FIRST_TRIES = 20       -- views in which a first event of a type, or of an ad, is expected
local MORE_TRIES = 4         -- views that each view of an ad without an event adds to FIRST_TRIES
local AD_WEIGHT = 0.5        -- events at the average rate that the bound of an ad adds
local WORD_WEIGHT = 4        -- events at the ad's rate that the bound of a word adds
local WORD_MARGIN = 0.5      -- share of the margin of an ad
local FIRST_SPREAD = 1.25    -- inside the logarithm: makes the margin 0.67 before the first view
local GROWTH_OF_SPREAD = 2   -- there: weight of the events per square of the number of ads
local DIGITS = '%.6g'        -- format of an estimated bound
local LEAST_PRICE = 0.001    -- millionths: ads without a price share the views that others leave
local SHARE = 1e-15          -- share that a view takes off a cpm ad's bound: equal ads take turns

-- The exploring percentage; 0: ads compete by their eCPM alone.
function exploring.read(text)
  local percent = text and records.counted(text) or TKL__ADS_EXPLORE
  return math.min(percent, TKL__ADS_EXPLORE_MAX)
end

-- The inputs for bounds of ads of a type: {expected rate, margin}. `views` and `events` are counts
-- of the type; `all_views` and `ads` are counts of the set.
function exploring.outlook(views, events, all_views, ads, explore)
  local expected = math.min(1, (events + 1) / (views + FIRST_TRIES))
  local spread = FIRST_SPREAD + GROWTH_OF_SPREAD * expected * all_views / math.max(1, ads) ^ 2
  return {expected = expected, margin = explore / 100 * math.sqrt(2 * math.log(spread))}
end

-- The expected rate of an ad with this many views.
function exploring.expected_of_ad(views, average)
  return math.max(average, 1 / (FIRST_TRIES + MORE_TRIES * views))
end

-- The bound of a rate, by the formula above.
function exploring.bound(views, events, expected, weight, margin)
  local seen = math.min(views, events) + weight
  local most = (seen + margin * math.sqrt(seen) + margin * margin / 3) / (views + weight / expected)
  return math.min(1, most)
end

-- The margin of a word. It shrinks to 0 as the word is seen as often as its ad.
function exploring.margin_of_word(views, views_of_ad, views_known, margin)
  local ratio = (math.max(views, views_of_ad) + views_known) / (views + views_known)
  return WORD_MARGIN * margin * math.sqrt(math.log(ratio))
end
