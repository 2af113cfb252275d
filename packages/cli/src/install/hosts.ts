import type { CommandServerConfig, UrlServerConfig } from 'tenon/host'
import { knownConfigFiles } from 'tenon/host/node'
import { usageError } from '../exit-codes.ts'

/** Where a host looks for servers. */
export type Scope = 'user' | 'project'

/** An entry in a config file, as JSON. */
export type Entry = Readonly<Record<string, unknown>>

/** A program that uses MCP servers, and how its config file looks. */
export interface KnownHost {
  /** The value of `--host`. */
  readonly id: string
  /** Its name, as the library knows it. */
  readonly name: string
  /** The member of the config file with the servers. */
  readonly container: string
  /** True if it can start a server in another folder. */
  readonly hasCwd?: boolean
  /** Writes a server that is a command. */
  command(server: CommandServerConfig): Entry
  /** Writes a server that is a URL. Undefined if the host starts only commands. */
  readonly url?: (server: UrlServerConfig) => Entry
  /** What the user does so that the host notices the change. */
  readonly next: string
}

/** All hosts that can be written to. */
export const hosts: readonly KnownHost[] = [
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    container: 'mcpServers',
    command: plainCommand,
    next: 'Restart Claude Desktop.',
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    container: 'mcpServers',
    command: (server) => ({ type: 'stdio', ...plainCommand(server) }),
    url: (server) => ({ type: server.transport ?? 'http', ...plainUrl(server) }),
    next: 'Start a new session of Claude Code.',
  },
  {
    id: 'vscode',
    name: 'VS Code',
    container: 'servers',
    hasCwd: true,
    command: (server) => ({ type: 'stdio', ...plainCommand(server) }),
    url: (server) => ({ type: server.transport ?? 'http', ...plainUrl(server) }),
    next: 'Start the server in VS Code: "MCP: List Servers".',
  },
  {
    id: 'cursor',
    name: 'Cursor',
    container: 'mcpServers',
    command: plainCommand,
    url: plainUrl,
    next: 'Turn the server on in the settings of Cursor.',
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    container: 'mcpServers',
    command: plainCommand,
    url: ({ url, headers }) => compact({ serverUrl: url, headers }),
    next: 'Refresh the servers in the settings of Windsurf.',
  },
  {
    id: 'cline',
    name: 'Cline',
    container: 'mcpServers',
    hasCwd: true,
    command: plainCommand,
    url: (server) => ({ type: server.transport === 'sse' ? 'sse' : 'streamableHttp', ...plainUrl(server) }),
    next: 'Cline notices the change by itself.',
  },
  {
    id: 'roo',
    name: 'Roo Code',
    container: 'mcpServers',
    hasCwd: true,
    command: plainCommand,
    url: (server) => ({ type: server.transport === 'sse' ? 'sse' : 'streamable-http', ...plainUrl(server) }),
    next: 'Roo Code notices the change by itself.',
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    container: 'mcpServers',
    hasCwd: true,
    command: plainCommand,
    url: ({ url, headers, transport }) => compact({ [transport === 'sse' ? 'url' : 'httpUrl']: url, headers }),
    next: 'Start a new session of Gemini CLI.',
  },
  {
    id: 'zed',
    name: 'Zed',
    container: 'context_servers',
    command: plainCommand,
    url: plainUrl,
    next: 'Zed notices the change by itself.',
  },
  {
    id: 'opencode',
    name: 'opencode',
    container: 'mcp',
    command: ({ command, args = [], env }) =>
      compact({ type: 'local', command: [command, ...args], environment: env, enabled: true }),
    url: ({ url, headers }) => compact({ type: 'remote', url, headers, enabled: true }),
    next: 'Start a new session of opencode.',
  },
  {
    id: 'lm-studio',
    name: 'LM Studio',
    container: 'mcpServers',
    command: plainCommand,
    url: plainUrl,
    next: 'LM Studio notices the change by itself.',
  },
  {
    id: 'tenon',
    name: 'Tenon',
    container: 'mcpServers',
    hasCwd: true,
    command: plainCommand,
    url: plainUrl,
    next: 'Use it with "tenon chat", "tenon gateway" or by its name.',
  },
]

/** Finds a host by its id. */
export function findHost(id: string): KnownHost {
  const found = hosts.find((host) => host.id === id.toLowerCase())
  if (found) return found
  throw usageError(`Unknown host: ${id}`, `Known hosts: ${hosts.map((host) => host.id).join(', ')}.`)
}

/** The config files of a host in the order of preference, for each scope that it has. */
export function filesOf({ name }: KnownHost): { readonly path: string; readonly scope: Scope }[] {
  return knownConfigFiles().filter(({ host }) => host === name)
}

function plainCommand({ command, args = [], env, cwd }: CommandServerConfig): Entry {
  return compact({ command, args, env, cwd })
}

function plainUrl({ url, headers }: UrlServerConfig): Entry {
  return compact({ url, headers })
}

function compact(entry: Entry): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))
}
