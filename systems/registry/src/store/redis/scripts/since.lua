-- KEYS about, log; ARGV epoch, number of the last entry known, most entries to give
-- Gives {now, epoch or '', number of the newest entry, entries behind the last known}; entries only
-- if the epoch is still the same.
local about = redis.call('HMGET', KEYS[1], 'epoch', 'sequence')
local epoch = about[1] or ''
local newest = tonumber(about[2] or '0')
local entries = {}
if epoch ~= '' and epoch == ARGV[1] and newest > tonumber(ARGV[2]) then
  entries = redis.call('XRANGE', KEYS[2], '(' .. ARGV[2] .. '-0', '+', 'COUNT', ARGV[3])
end
return {now(), epoch, newest, entries}
