-- unique/gather: count or merge copies of HyperLogLogs that live on other servers.
-- KEYS[1] own      HyperLogLog
-- KEYS[2...] room  keys for the copies, removed again
-- ARGV[1] command  PFCOUNT or PFMERGE
-- ARGV[2...] copies as GET gave them
-- returns what the command does

for i = 2, #KEYS do
  redis.call('SET', KEYS[i], ARGV[i], 'PX', '60000')
end
local answer = redis.pcall(ARGV[1], KEYS[1], unpack(KEYS, 2))
redis.call('UNLINK', unpack(KEYS, 2))
return answer
