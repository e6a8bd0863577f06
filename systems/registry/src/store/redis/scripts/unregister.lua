-- KEYS identities, expiry, log, about; ARGV name, length of the log
-- Gives 1 if it was there; who has expired was not, and is left to the cleaning up.
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
if ends and tonumber(ends) <= now() then
  return 0
end
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
note(KEYS[3], KEYS[4], ARGV[2], 'gone', ARGV[1])
return 1
