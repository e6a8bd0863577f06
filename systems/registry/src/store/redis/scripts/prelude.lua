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

-- How many namespaces are in the way of this one, if it is new and there may be no more than `most`
-- (0 is no bound); else nil. To be asked before anything is written.
local function crowd(about, namespaces, most)
  local bound = tonumber(most)
  if bound == 0 or redis.call('HEXISTS', about, 'epoch') == 1 then
    return nil
  end
  local there = redis.call('SCARD', namespaces)
  return there >= bound and there or nil
end

-- Entries are numbered without a hole, so that whoever follows the log sees when some are gone.
local function note(log, about, length, ...)
  local number = redis.call('HINCRBY', about, 'sequence', 1)
  redis.call('XADD', log, 'MAXLEN', '~', length, string.format('%.0f-0', number), ...)
end
