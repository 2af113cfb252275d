import type { Connectable, ConnectOptions } from '../../connect/connect.ts'
import type { Trust } from '../action.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

/** Options that every server has. */
export interface CommonServerConfig {
  /** Default `untrusted`. */
  trust?: Trust | undefined
  /** A server that is disabled is not started, and its tools are not in the catalog. */
  disabled?: boolean | undefined
  /** How long the connection stays open without a call. Default 300,000; `Infinity`: until the host closes. */
  idleMs?: number | undefined
  /** How long a call may take without progress. Default 60,000. */
  timeoutMs?: number | undefined
  /** Only these tools are in the catalog, by the names that the server gives them; `*` matches any text. Default: all. */
  tools?: readonly string[] | undefined
  /**
   * For a gateway: all callers share one connection. Only for servers that keep no state per connection. Questions of such a
   * server do not reach callers, because it is unknown whose they are. Default false.
   */
  shared?: boolean | undefined
  /**
   * Whether the names of tools and prompts begin with the id of the server. Only one server can have `false`. Its names that begin
   * with the id of another server get a prefix all the same. Default true.
   */
  prefix?: boolean | undefined
}

/** A server that the host starts as a process. */
export interface CommandServerConfig extends CommonServerConfig {
  /** The program. It is never run through a shell. */
  command: string
  args?: readonly string[] | undefined
  /** Environment variables, added to a minimal environment. */
  env?: Readonly<Record<string, string>> | undefined
  cwd?: string | undefined
  /** How to confine the process. Default: a minimal environment, and nothing else. */
  sandbox?: Sandbox | undefined
}

/** A server at a URL. */
export interface UrlServerConfig extends CommonServerConfig {
  url: string
  /** Accepted because other hosts write it. The transport is found out when the host connects. */
  transport?: 'http' | 'sse' | undefined
  headers?: Readonly<Record<string, string>> | undefined
  /** Provides credentials: `oauth()`, `bearer(token)` and the like of `tenon/auth/client`. */
  auth?: ConnectOptions['auth']
  /** Allows `http:` to another machine. Default false. */
  allowInsecure?: boolean | undefined
}

/** A server in this process. */
export interface LocalServerConfig extends CommonServerConfig {
  server: Connectable
}

export type ServerConfig = CommandServerConfig | UrlServerConfig | LocalServerConfig

/** The servers of a host, by the ids that the user chose. */
export type ServerConfigs = Readonly<Record<string, ServerConfig>>
