-- KEYS identities, expiry, log, about, namespaces
-- ARGV namespace, name, identity (JSON without its instants and its end), time to live (ms or ''),
--      replace (1 or 0), quota, length of the log, most namespaces
-- Gives {0, registered at}, {1} if the name is taken, {2, how many there are}, or {3, how many
-- namespaces are in the way of this one}.
local crowded = crowd(KEYS[4], KEYS[5], ARGV[8])
if crowded then
  return {3, crowded}
end
local name = ARGV[2]
local time = now()

-- Who has expired does not stand in the way, whether cleaned up or not.
local there = redis.call('HEXISTS', KEYS[1], name) == 1
if there then
  local ends = redis.call('ZSCORE', KEYS[2], name)
  there = not ends or tonumber(ends) > time
end
if there and ARGV[5] == '0' then
  return {1}
end
local quota = tonumber(ARGV[6])
if not there and quota > 0 then
  local alive = redis.call('HLEN', KEYS[1]) - redis.call('ZCOUNT', KEYS[2], '-inf', time)
  if alive >= quota then
    return {2, alive}
  end
end

local ends = 'null'
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], name)
else
  ends = string.format('%.0f', time + tonumber(ARGV[4]))
  redis.call('ZADD', KEYS[2], ends, name)
end
local identity = string.format('%s,"registered_at":%.0f,"expires_at":%s}', ARGV[3], time, ends)
open(KEYS[4], KEYS[5], ARGV[1])
redis.call('HSET', KEYS[1], name, identity)
note(KEYS[3], KEYS[4], ARGV[7], 'put', identity)
return {0, time}
