import type { Client } from './connections.ts'

/** A Lua script that runs atomically in Redis. */
export interface Script {
  readonly name: string
  readonly keys: number
  readonly lua: string
}

/** Defines commands for scripts. Define all at once: a pipeline knows only commands that were defined before it. */
export function defineScripts(client: Client, scripts: readonly Script[]): void {
  for (const { name, keys, lua } of scripts) client.defineCommand(commandOf(name), { numberOfKeys: keys, lua })
}

/** Runs a script. Pass its keys first, then its arguments. ioredis sends the source to each server once. */
export async function runScript(client: Client, script: Script, ...args: Array<string | number>): Promise<unknown> {
  const commands = client as unknown as Record<string, (...args: Array<string | number>) => Promise<unknown>>
  return commands[commandOf(script.name)]?.(...args)
}

/** Lua functions: the clock of Redis, which all processes share, and numbers as text, not in the form 1.7e+12. */
export const clock = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(number)
  return string.format('%.0f', number)
end
`

function commandOf(name: string): string {
  return `tenon:${name}`
}
