import type { Client } from '../client/client.ts'
import type { ListCall } from '../client/list-call.ts'
import { McpError } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Tool } from '../protocol/tools.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { Definitions } from './definitions.ts'
import { matchesAny } from './glob.ts'

interface LoadOptions {
  readonly config: ServerConfig
  readonly maxDefinitionBytes: number
}

/** Reads everything that a server defines. Rejects if it is more than the limit. */
export async function loadDefinitions(
  client: Client,
  { config, maxDefinitionBytes }: LoadOptions,
): Promise<Definitions> {
  const { capabilities, info, instructions } = client.server
  const budget = new Budget(maxDefinitionBytes)
  budget.take(instructions ?? '')
  const [tools, prompts, resourceTemplates] = [
    capabilities.tools ? await read(client.listTools(), budget) : [],
    capabilities.prompts ? await read(client.listPrompts(), budget) : [],
    capabilities.resources ? await read(client.listResourceTemplates(), budget) : [],
  ]
  return {
    ...(info && { identity: { name: info.name, version: info.version } }),
    instructions,
    tools: selected(tools, config),
    prompts,
    resourceTemplates,
    // Lists of resources can be long and change all the time: they are read when they are needed.
    resources: [],
  }
}

function selected(tools: Tool[], { tools: wanted }: ServerConfig): Tool[] {
  return wanted ? tools.filter(({ name }) => matchesAny(wanted, name)) : tools
}

async function read<R extends ResultObject, T>(list: ListCall<R, T>, budget: Budget): Promise<T[]> {
  const items: T[] = []
  for await (const item of list) {
    budget.take(JSON.stringify(item))
    items.push(item)
  }
  return items
}

/** Counts characters, so that a server cannot fill the memory with definitions. */
class Budget {
  #left: number
  readonly #max: number

  constructor(max: number) {
    this.#max = max
    this.#left = max
  }

  take(text: string): void {
    this.#left -= text.length
    if (this.#left >= 0) return
    throw new McpError('invalid-response', `its definitions are larger than ${this.#max} bytes (maxDefinitionBytes)`)
  }
}
