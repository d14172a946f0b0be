-- queue/push: put jobs into the queue, and hand them to the waiters.
-- KEYS[1...] queue  see keys.inc.lua
-- ARGV[1] lane      of this request
-- ARGV[2] number    of this request in its lane
-- ARGV[3] after     lane of the part of this request that must be in the queue before; '' for none
-- ARGV[4...] jobs   two each: when it may start, '' for at once, or of the words "delay=ms",
--   "at=ms" and "after=1,2" (numbers in this call of the jobs that it waits for); and its record
-- returns the outcomes of the jobs, in words with spaces in between: "id*n" for n new jobs with
--   consecutive ids from `id` on; "=id" of the job that has the unique key; or "-" when there is no
--   room. Nil, and nothing is pushed, when the part before is not in the queue
-- include: shared/clock
-- include: pushing
-- include: line

now = clock.ms()
local NONE = {}
local PLAIN = {priority = 0, unique = 0} -- a job without options
local FIRST_JOB = 4 -- index in ARGV
local lane, number, after_lane = ARGV[1], ARGV[2], ARGV[3]

local before = pushing.answer_before(lane, number)
if before then
  return before
end
if after_lane ~= '' and not pushing.answer_before(after_lane, number) then
  return nil
end
local waiting, meta = line.read_waiting(), totals.read()
local stock = pushing.open_stock(meta)
local words, run = {}, 0     -- the answer; how many new jobs its last word stands for
local ids = {}               -- id of each job, by its number in this push
local parents = {}           -- the jobs that wait for a child, by the child's id
local is_new = {}            -- the jobs of a flow, by id
local has_unique = false     -- whether one of the jobs got a unique key
local ready_scores = {}      -- scores in READY, by priority
-- Arguments of the commands that store records, members of sets and parents:
local records, ready, delayed, flow, flow_places, parent_lists = {}, {}, {}, {}, {}, {}

local function append(list, first, second)
  list[#list + 1] = first
  list[#list + 1] = second
end

local function store(command, key, arguments)
  if arguments[1] then
    redis.call(command, key, unpack(arguments))
  end
end

-- The jobs that wait for a child: those of earlier pushes as text, and those of this push.
local function parents_of(child)
  if not parents[child] then
    local earlier = not is_new[child] and redis.call('HGET', PARENTS, child) or ''
    parents[child] = {earlier = earlier, count = #earlier / (ID_LENGTH + 1)}
  end
  return parents[child]
end

-- Finds the children that a job waits for and that are not over. Returns each child's list of
-- parents. Nil when a child was not pushed, or when too many jobs wait for it.
local function children_of(after)
  local children = {}
  for number_in_push in string.gmatch(after, '%d+') do
    local child = ids[tonumber(number_in_push)]
    local list = child and parents_of(child)
    if not list or list.count >= PARENTS_MAX then
      return nil
    elseif is_new[child] or redis.call('HEXISTS', JOBS, child) == 1 then
      children[#children + 1] = list
    end
  end
  return children
end

-- Makes a job wait for its children.
local function wait_for(id, children, priority, due)
  append(flow, #children, id)
  append(flow_places, id, string.format('%d %.0f', priority, due or 0))
  local word = id .. ' '
  for _, list in ipairs(children) do
    list.count = list.count + 1
    list[#list + 1] = word
  end
end

-- The time at which a job is due, and the children that it waits for; false when it cannot wait for
-- them.
local function read_when(when)
  local delay, at = string.match(when, 'delay=(%d+)'), string.match(when, 'at=(%d+)')
  local after = string.match(when, 'after=(%S+)')
  return delay and now + delay or tonumber(at), after and children_of(after) or not after and NONE
end

-- Adds a job, unless another one has its unique key or there is no room. Returns its id, and a word
-- for the answer unless it is new.
local function push(when, record)
  local job, due, children = PLAIN, nil, NONE
  if jobs.has_options(record) then
    job = jobs.read(record)
  end
  local holder = job.unique > 0 and unique.holder_of(job.unique_key)
  if holder then
    return holder, '=' .. holder
  end
  if when ~= '' then
    due, children = read_when(when)
  end
  if not children or not pushing.has_room(stock, meta, record) then
    return nil, '-'
  end
  local id = pushing.add_to_stock(stock, record)
  append(records, id, record)
  if job.flow then
    is_new[id] = true
  end
  if children[1] then
    wait_for(id, children, job.priority, due)
  elseif due then
    append(delayed, decimal.whole(due), id)
  else
    local score = ready_scores[job.priority] or jobs.score(job.priority, PUSHED)
    ready_scores[job.priority] = score
    append(ready, score, id)
  end
  if job.unique > 0 then
    unique.hold(job, id)
    has_unique = true
  end
  return id
end

-- Ends the word that stands for a run of new jobs.
local function end_run()
  if run > 0 then
    words[#words] = words[#words] .. '*' .. run
    run = 0
  end
end

local function add_to_answer(id, word)
  if word then
    end_run()
    words[#words + 1] = word
    return
  end
  if run == 0 then
    words[#words + 1] = id
  end
  run = run + 1
end

for i = FIRST_JOB, #ARGV, 2 do
  local when, record = ARGV[i], ARGV[i + 1]
  local id, word = push(when, record)
  ids[(i - FIRST_JOB) / 2 + 1] = id
  add_to_answer(id, word)
end
end_run()
for child, list in pairs(parents) do
  if list[1] then
    append(parent_lists, child, list.earlier .. table.concat(list))
  end
end
store('HSET', PARENTS, parent_lists)
store('ZADD', FLOW, flow)
store('HSET', FLOW_PLACES, flow_places)
store('ZADD', READY, ready)
store('ZADD', DELAYED, delayed)
if records[1] then
  pushing.store(stock, records)
end
pushing.close_stock(stock, meta)
local answer = table.concat(words, ' ')
pushing.remember_answer(lane, number, answer)
if has_unique then
  unique.let_expire()
end
unique.prune()
if events.are_watched(meta) then
  local new = {}
  for i = 1, #records, 2 do
    new[#new + 1] = records[i]
  end
  events.publish(meta, 'pushed', new)
end
line.wake(waiting, line.open_gate(meta))
return answer
