import { clock, type Script } from './scripts.ts'

/** How long after a task became ready a job must be there for it; otherwise whoever was to add it is gone. */
export const graceMs = 1000

/**
 * Puts an entry and what goes with it. A task that is ready is in `due` until a run of it is over, and `ready` counts how
 * often it became so: a run has dealt with it only if the count is still what it was when the run began.
 */
const put = `${clock}
-- A place in 'expiry' names the owner too, who is not known any more when the task is gone.
local function place(id, owner)
  return #id .. ':' .. id .. owner
end

local function put(id, owner, version, createdAt, expiresAt, isOpen, body, operation, isReady, changes, message, noteCount)
  redis.call('HSET', KEYS[1], 'owner', owner, 'version', version, 'createdAt', createdAt, 'expiresAt', expiresAt,
    'isOpen', isOpen, 'body', body, 'operation', operation)
  for index = #ARGV - noteCount + 1, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[index]) end
  redis.call('ZADD', KEYS[3], createdAt, id)
  if isOpen == '1' then
    redis.call('ZADD', KEYS[4], expiresAt == '' and '+inf' or expiresAt, id)
  else
    redis.call('ZREM', KEYS[4], id)
  end
  if isReady == '1' then
    redis.call('HINCRBY', KEYS[1], 'ready', 1)
    redis.call('ZADD', KEYS[6], text(now() + ${graceMs}), id)
  end
  if expiresAt == '' then
    redis.call('ZREM', KEYS[5], place(id, owner))
    redis.call('PERSIST', KEYS[1])
    redis.call('PERSIST', KEYS[2])
  else
    redis.call('ZADD', KEYS[5], expiresAt, place(id, owner))
    -- Redis keeps a key up to and with the moment it is given.
    redis.call('PEXPIREAT', KEYS[1], text(math.ceil(expiresAt) - 1))
    redis.call('PEXPIREAT', KEYS[2], text(math.ceil(expiresAt) - 1))
  end
  redis.call('PUBLISH', changes, message)
end
`

/** Takes what expired out of the lists that it was in. */
const clean = `
local function clean(root, expiry, due, count)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', text(now()), 'LIMIT', 0, count)) do
    local size, rest = string.match(member, '^(%d+):(.*)$')
    local id = string.sub(rest, 1, tonumber(size))
    local owner = string.sub(rest, tonumber(size) + 1)
    local another = redis.call('HGET', root .. ':task:' .. id, 'owner')
    redis.call('ZREM', expiry, member)
    if another ~= owner then
      redis.call('ZREM', root .. ':owner:' .. owner, id)
      redis.call('ZREM', root .. ':open:' .. owner, id)
    end
    if not another then redis.call('ZREM', due, id) end
  end
end
`

/** Keys: task, notes, owner, open, expiry, due. Gives 0 when there is a task of this id. */
export const createTask: Script = {
  name: 'create-task',
  keys: 6,
  lua: `${put}${clean}
local id, owner, version, createdAt, expiresAt, isOpen, body, operation, isReady, changes, message, noteCount, root =
  unpack(ARGV, 1, 13)
local known = redis.call('HMGET', KEYS[1], 'version', 'operation')
-- Sent once more, because the connection was lost before the answer came.
if known[1] == version and known[2] == operation then return 1 end
if known[1] then return 0 end
-- As many as there may come new ones, and a few more: so what is there stays in proportion to what is alive.
clean(root, KEYS[5], KEYS[6], 10)
put(id, owner, version, createdAt, expiresAt, isOpen, body, operation, isReady, changes, message, noteCount)
return 1
`,
}

/** Keys: task, notes, owner, open, expiry, due, delayed jobs. Gives 0: nothing done, 1: done, 2: done, and its job waits. */
export const replaceTask: Script = {
  name: 'replace-task',
  keys: 7,
  lua: `${put}
local id, owner, version, createdAt, expiresAt, isOpen, body, operation, isReady, changes, message, noteCount, root,
  previous, job = unpack(ARGV, 1, 15)
local known = redis.call('HMGET', KEYS[1], 'version', 'operation', 'owner')
if known[1] == version and known[2] == operation then return 1 end
if known[1] ~= previous then return 0 end
if known[3] ~= owner then
  redis.call('ZREM', root .. ':owner:' .. known[3], id)
  redis.call('ZREM', root .. ':open:' .. known[3], id)
  redis.call('ZREM', KEYS[5], place(id, known[3]))
end
put(id, owner, version, createdAt, expiresAt, isOpen, body, operation, isReady, changes, message, noteCount)
if isReady == '1' and redis.call('ZSCORE', KEYS[7], job) then return 2 end
return 1
`,
}

/** Keys: owner. Gives the fields of the tasks, each with its id, and takes those that are gone out of the list. */
export const listTasks: Script = {
  name: 'list-tasks',
  keys: 1,
  lua: `
local root, owner, limit, createdAt, after = unpack(ARGV)
limit = tonumber(limit)
local from = 0
if after then
  -- A task that is gone is put back for a moment to find its place.
  local isGone = redis.call('ZADD', KEYS[1], 'NX', createdAt, after) == 1
  from = redis.call('ZRANK', KEYS[1], after)
  if isGone then redis.call('ZREM', KEYS[1], after) else from = from + 1 end
end
local found = {}
while #found < limit do
  local ids = redis.call('ZRANGE', KEYS[1], from, from + math.min(100, limit - #found) - 1)
  if #ids == 0 then break end
  for _, id in ipairs(ids) do
    local fields = redis.call('HMGET', root .. ':task:' .. id, 'owner', 'version', 'createdAt', 'expiresAt', 'isOpen', 'body')
    if fields[1] == owner then
      fields[7] = id
      found[#found + 1] = fields
      from = from + 1
    else
      redis.call('ZREM', KEYS[1], id)
    end
  end
end
return found
`,
}

/** Keys: open. */
export const countOpenTasks: Script = {
  name: 'count-open-tasks',
  keys: 1,
  lua: `${clock}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now()))
return redis.call('ZCARD', KEYS[1])
`,
}

/** Keys: task, due. Gives how often the task became ready, or nothing when it is gone or not ready. */
export const takeTask: Script = {
  name: 'take-task',
  keys: 2,
  lua: `
local ready = redis.call('HGET', KEYS[1], 'ready')
if not ready then redis.call('ZREM', KEYS[2], ARGV[1]) end
return ready and redis.call('ZSCORE', KEYS[2], ARGV[1]) and ready
`,
}

/** Keys: task, due. Gives 1 when the task became ready since it was taken. */
export const finishTask: Script = {
  name: 'finish-task',
  keys: 2,
  lua: `
local ready = redis.call('HGET', KEYS[1], 'ready')
if ready and ready ~= ARGV[2] then return 1 end
redis.call('ZREM', KEYS[2], ARGV[1])
return 0
`,
}

/**
 * Keys: due, expiry. Looks at tasks that are due, and gives how many those were and which of them have no job. Those that
 * have one are looked at again later, because the job may be lost between its end and that of the task's readiness.
 */
export const sweepTasks: Script = {
  name: 'sweep-tasks',
  keys: 2,
  lua: `${clock}${clean}
local root, jobs, laterMs, count = unpack(ARGV)
clean(root, KEYS[2], KEYS[1], count)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now()), 'LIMIT', 0, count)
local found = { #ids }
for _, id in ipairs(ids) do
  local job = jobs .. string.gsub(string.gsub(id, '%%', '%%25'), ':', '%%3A')
  if redis.call('EXISTS', job) == 1 then
    redis.call('ZADD', KEYS[1], text(now() + laterMs), id)
  else
    redis.call('ZADD', KEYS[1], text(now() + ${graceMs}), id)
    found[#found + 1] = id
  end
end
return found
`,
}

export const taskScripts = [createTask, replaceTask, listTasks, countOpenTasks, takeTask, finishTask, sweepTasks]
