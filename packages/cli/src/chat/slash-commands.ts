import { fileURLToPath } from 'node:url'
import type { Grant, Host, HostTool } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { parseArguments, splitWord } from '../arguments/parse-text.ts'
import { splitWords } from '../arguments/split-words.ts'
import { fit, padEnd } from '../columns.ts'
import { CliError, exitCodes, usageError } from '../exit-codes.ts'
import { viewServers } from '../host/server-view.ts'
import { type Output, quote, twoColumns } from '../output.ts'
import { viewPrompt, viewResource, viewToolResult } from './content-view.ts'
import { noteMissing, resolveFolders } from './root-folders.ts'

/** What slash commands work with. */
export interface ChatContext {
  readonly host: Host
  readonly output: Output
  /** Aborts when the user presses Ctrl-C. */
  readonly signal: AbortSignal
  /** Connects a server, and asks again for what was denied. */
  connect(id: string): Promise<void>
}

/** A command that begins with a slash. */
export interface SlashCommand {
  readonly usage: string
  readonly help: string
  run(rest: string, context: ChatContext): Promise<void>
}

/** The slash commands by name. `/quit` is part of the loop. */
export const slashCommands: ReadonlyMap<string, SlashCommand> = new Map<string, SlashCommand>([
  ['/tools', { usage: '/tools [words]', help: 'list tools, search them, or show one', run: showTools }],
  ['/call', { usage: '/call name key=value key:=json', help: 'call a tool', run: callTool }],
  [
    '/resources',
    { usage: '/resources [words]', help: 'list resources and templates, or search them', run: showResources },
  ],
  ['/read', { usage: '/read uri', help: 'read a resource', run: readResource }],
  ['/prompts', { usage: '/prompts', help: 'list prompts', run: showPrompts }],
  ['/prompt', { usage: '/prompt name key=value', help: 'get a prompt', run: getPrompt }],
  ['/servers', { usage: '/servers', help: 'show the state of the servers', run: showServers }],
  ['/connect', { usage: '/connect id', help: 'connect a server again, and ask again', run: connectServer }],
  [
    '/roots',
    { usage: '/roots [folder ...]', help: 'show or replace the folders that servers may know', run: setRoots },
  ],
  ['/grants', { usage: '/grants', help: 'list what you allowed for longer than once', run: showGrants }],
  ['/revoke', { usage: '/revoke id', help: 'take back a grant', run: revokeGrant }],
  ['/help', { usage: '/help', help: 'show this list', run: showHelp }],
  ['/quit', { usage: '/quit', help: 'leave', run: async () => {} }],
])

/**
 * Runs a line that begins with a slash.
 * @throws CliError if there is no such command
 */
export async function runSlashCommand(line: string, context: ChatContext): Promise<void> {
  const [name, rest] = splitWord(line)
  const command = slashCommands.get(name)
  if (!command) throw usageError(`Unknown command: ${name}`, 'Type /help for a list.')
  await command.run(rest, context)
}

async function showTools(words: string, { host, output }: ChatContext): Promise<void> {
  const tools = await host.tools()
  const exact = tools.find(({ name }) => name === words)
  if (exact) return output.print(...viewTool(exact, output))
  const shown = words === '' ? tools : await host.searchTools(words, { limit: 20 })
  if (shown.length === 0) return output.note(words === '' ? 'There are no tools.' : 'No tool matches.')
  output.print(
    ...twoColumns(
      shown.map(({ name, description = '' }) => [name, safeLine(description)]),
      output,
    ),
  )
}

function viewTool({ name, description, inputSchema, server }: HostTool, output: Output): string[] {
  const { paint, width } = output
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, { type?: unknown; description?: unknown }>
    required?: readonly unknown[]
  }
  const rows = Object.entries(properties).map(([key, property]) => {
    const type = typeof property?.type === 'string' ? property.type : 'any'
    const text = typeof property?.description === 'string' ? property.description : ''
    return [safeLine(key), safeLine(`${type}${required.includes(key) ? ', required' : ''}  ${text}`)] as const
  })
  return [
    `${paint.strong(name)}  ${paint.faint(`of ${server}`)}`,
    ...(description ? quote(description, width, paint, 4_000) : []),
    ...(rows.length > 0 ? ['Arguments', ...twoColumns(rows, output)] : ['No arguments.']),
  ]
}

async function callTool(rest: string, { host, output, signal }: ChatContext): Promise<void> {
  const [name, text] = splitWord(rest)
  if (name === '') throw usageError('No tool was named.', 'Write /call name key=value. /tools lists the names.')
  const tool = (await host.tools()).find((each) => each.name === name)
  const result = await host.callTool(name, parseArguments(text, tool?.inputSchema), { signal })
  output.print(...viewToolResult(result, output))
  if (result.isError) throw new ToolFailed()
}

/** The tool answered with an error, which was shown already. */
export class ToolFailed extends CliError {
  override name = 'ToolFailed'

  constructor() {
    super('tool-error', 'The tool answered with an error.', { exitCode: exitCodes.error })
  }
}

async function showResources(words: string, { host, output }: ChatContext): Promise<void> {
  const [resources, templates] = [await host.resources(), await host.resourceTemplates()]
  const all = [
    ...resources.map(({ uri, description, name, server }) => [uri, `${server}  ${description ?? name}`] as const),
    ...templates.map(({ uriTemplate, description, name, server }) => {
      return [uriTemplate, `${server}  ${description ?? name}`] as const
    }),
  ]
  const wanted = words.toLowerCase().split(/\s+/)
  const rows = all.filter((row) => wanted.every((word) => row.join(' ').toLowerCase().includes(word)))
  if (rows.length === 0) return output.note(all.length === 0 ? 'There are no resources.' : 'No resource matches.')
  output.print(
    ...twoColumns(
      rows.map(([uri, text]) => [safeLine(uri, 2_000), safeLine(text)]),
      output,
    ),
  )
}

async function readResource(uri: string, { host, output }: ChatContext): Promise<void> {
  if (uri === '') throw usageError('No URI was given.', 'Write /read uri. /resources lists them.')
  output.print(...viewResource(await host.readResource(uri), output))
}

async function showPrompts(_rest: string, { host, output }: ChatContext): Promise<void> {
  const prompts = await host.prompts()
  if (prompts.length === 0) return output.note('There are no prompts.')
  output.print(
    ...twoColumns(
      prompts.map(({ name, description = '' }) => [name, safeLine(description)]),
      output,
    ),
  )
}

async function getPrompt(rest: string, { host, output }: ChatContext): Promise<void> {
  const [name, text] = splitWord(rest)
  if (name === '') throw usageError('No prompt was named.', 'Write /prompt name key=value. /prompts lists the names.')
  const entries = Object.entries(parseArguments(text)).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  output.print(...viewPrompt(await host.getPrompt(name, Object.fromEntries(entries)), output))
}

async function showServers(_rest: string, { host, output }: ChatContext): Promise<void> {
  output.print(...(await viewServers(host, output.width, output.paint)))
}

async function connectServer(id: string, context: ChatContext): Promise<void> {
  await context.connect(id)
  await showServers('', context)
}

async function setRoots(rest: string, { host, output }: ChatContext): Promise<void> {
  const folders = splitWords(rest)
  if (folders.length > 0) host.setRoots(resolveFolders(folders))
  const { roots } = host
  if (roots.length === 0) return output.note('Servers may know no folder. Write /roots folder to offer one.')
  const paths = roots.map(({ uri }) => fileURLToPath(uri))
  output.print(...paths.map((path) => safeLine(path, 1_000)))
  noteMissing(paths, output)
}

async function showGrants(_rest: string, { host, output }: ChatContext): Promise<void> {
  const grants = host.grants()
  if (grants.length === 0) return output.note('There are no grants.')
  output.print(...grants.map((grant) => viewGrant(grant, output)))
}

/** The beginning of an id is enough to tell grants apart. */
const shownIdChars = 8

function viewGrant({ id, server, kind, name = '', duration, expiresAt }: Grant, { width, paint }: Output): string {
  const until = duration === 'session' ? 'this session' : `until ${new Date(expiresAt).toISOString().slice(0, 10)}`
  const start = `  ${id.slice(0, shownIdChars)}  ${padEnd(until, 16)}  `
  return paint.faint(start) + fit(safeLine(`${kind} ${name} of ${server}`.replace(/ +/g, ' ')), width - start.length)
}

async function revokeGrant(rest: string, { host, output }: ChatContext): Promise<void> {
  if (rest === '') throw usageError('No grant was named.', 'Write /revoke id. /grants lists the ids.')
  const found = host.grants().filter(({ id }) => id.startsWith(rest))
  const [grant] = found
  if (found.length > 1) throw usageError(`Several grants begin with "${rest}".`, 'Write more of the id.')
  if (!grant || !(await host.revoke(grant.id))) throw usageError(`No grant has the id "${rest}".`, 'See /grants.')
  output.print('Revoked.')
}

async function showHelp(_rest: string, { output }: ChatContext): Promise<void> {
  output.print(
    ...twoColumns(
      [...slashCommands.values()].map(({ usage, help }) => [usage, help]),
      output,
    ),
  )
}
