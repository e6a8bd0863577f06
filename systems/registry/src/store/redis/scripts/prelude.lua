-- What the other scripts share; it stands before each of them.

-- Milliseconds since 1970 by the clock of Redis, which all coordinators share.
local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A namespace comes to be with whatever is first done to it. Its epoch tells it from one of the
-- same name that was there before all data were lost.
local function open(about, namespaces, namespace)
  if redis.call('HEXISTS', about, 'epoch') == 0 then
    local time = redis.call('TIME')
    redis.call('HSET', about, 'epoch', time[1] .. '.' .. time[2])
    redis.call('SADD', namespaces, namespace)
  end
end

-- Entries are numbered without a hole, so that whoever follows the log sees when some are gone.
local function note(log, about, length, ...)
  local number = redis.call('HINCRBY', about, 'sequence', 1)
  redis.call('XADD', log, 'MAXLEN', '~', length, string.format('%.0f-0', number), ...)
end
