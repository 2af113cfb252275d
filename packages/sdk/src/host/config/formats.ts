import { isObject, type JsonObject } from '../../util/objects.ts'
import { closest } from './edit-distance.ts'
import type { Problems } from './problems.ts'

/** The servers in a configuration, before they are validated. */
export interface RawServers {
  readonly entries: readonly (readonly [id: string, entry: unknown])[]
  /** What VS Code would ask the user for, by id, with the description of each. */
  readonly inputs: ReadonlyMap<string, string>
  /** True for the format of opencode, which writes variables as `{env:NAME}`. */
  readonly hasBracedVariables: boolean
}

/** The members that contain servers, in the order in which they are looked for. */
const containers = ['mcpServers', 'context_servers', 'servers', 'mcp'] as const

/** Members of a server, by which one is recognized in a configuration without a container. */
const telling = ['command', 'url', 'serverUrl', 'httpUrl', 'server']

/** Finds the servers in the configuration of any of the known hosts. */
export function findServers(value: unknown, problems: Problems): RawServers {
  if (!isObject(value)) {
    problems.fail('The configuration must be an object, such as { "mcpServers": { "files": { "command": "..." } } }.')
    return none
  }
  const present = containers.filter((name) => Object.hasOwn(value, name) && !isServer(value[name]))
  const [first] = present
  if (first === undefined) return plainMap(value, problems)
  warnAboutOthers(present, problems)
  return inContainer(value, first, problems)
}

const none: RawServers = { entries: [], inputs: new Map(), hasBracedVariables: false }

/** A container may have servers that are called `command` or `url`, so the kind of these members counts as well. */
function isServer(value: unknown): boolean {
  return isObject(value) && telling.some((name) => Object.hasOwn(value, name) && isTelling(value[name]))
}

function isTelling(member: unknown): boolean {
  return !isObject(member) || typeof member.path === 'string' || typeof member.connect === 'function'
}

/** `mcp` besides `mcpServers` has other settings of Gemini CLI, so it needs no warning. */
function warnAboutOthers([first, ...others]: readonly string[], problems: Problems): void {
  const ignored = others.filter((name) => name !== 'mcp')
  if (ignored.length > 0)
    problems.warn(`Only the servers in "${first}" are used; those in "${ignored.join('", "')}" are ignored.`)
}

function inContainer(value: JsonObject, name: string, problems: Problems): RawServers {
  const servers = value[name]
  if (!isObject(servers)) {
    problems.fail(`"${name}" must be an object with the servers by their ids.`)
    return none
  }
  // The user settings of VS Code have { "mcp": { "servers": ..., "inputs": ... } }.
  if (name === 'mcp' && isObject(servers.servers) && !isServer(servers.servers))
    return inContainer(servers, 'servers', problems)
  return { entries: Object.entries(servers), inputs: inputsOf(value), hasBracedVariables: name === 'mcp' }
}

function inputsOf(value: JsonObject): Map<string, string> {
  const inputs = new Map<string, string>()
  for (const input of Array.isArray(value.inputs) ? value.inputs : []) {
    if (isObject(input) && typeof input.id === 'string')
      inputs.set(input.id, typeof input.description === 'string' ? input.description : '')
  }
  return inputs
}

function plainMap(value: JsonObject, problems: Problems): RawServers {
  const entries = Object.entries(value).filter(([name]) => name !== '$schema')
  const misspelt = entries.find(([name, entry]) => !isServer(entry) && closest(name, containers) !== undefined)
  if (misspelt) {
    problems.fail(`Unknown member "${misspelt[0]}". Did you mean "${closest(misspelt[0], containers)}"?`)
    return none
  }
  if (entries.length > 0 && !entries.some(([, entry]) => isServer(entry))) {
    problems.fail('No servers found. Put them into an object "mcpServers" by their ids.')
    return none
  }
  return { ...none, entries }
}
