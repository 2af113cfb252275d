import type { Implementation } from '../../protocol/capabilities.ts'
import type { Context } from '../../server/context.ts'
import type { ServerOptions } from '../../server/options.ts'
import type { TaskRuntime } from '../../server/task-runtime.ts'
import type { Bus } from '../../store/ports.ts'
import type { HostTool } from '../catalog.ts'

/** Options of `createGateway`. */
export interface GatewayOptions {
  /** The name and version of the gateway. Default: those of this package. */
  info?: Implementation | undefined
  /**
   * Which tools, prompts and resources a caller may see and use, by rules of their scopes or by a function. Default: all of them,
   * to everyone who may call the gateway (`auth` of `serveHttp`).
   *
   * @example
   * access: ({ auth }, { server }) => server !== 'payroll' || auth?.claims?.department === 'hr'
   */
  access?: readonly AccessRule[] | AccessFunction | undefined
  /**
   * The token of each user for a server, by server id, for servers that act on behalf of users: for example
   * `({ auth }) => broker.upstreamToken(auth)`. Called for every request to that server. If the user has to log in first, throw
   * a `UrlElicitationRequiredError` with the page. Default: all callers use the credentials of the configuration.
   */
  userTokens?: UserTokens | undefined
  /**
   * Offers two tools, `search_tools` and `call_tool`, instead of all: a model cannot choose among thousands. `auto` does so
   * above 100 tools. Default `auto`.
   */
  toolSearch?: boolean | 'auto' | undefined
  /**
   * Callers with connections of their own. The least recently used of the user with the most is disconnected; if all have open
   * calls, more are refused. One user, or one address of anonymous callers, gets at most three quarters. Default 200.
   */
  maxCallers?: number | undefined
  /**
   * Lets callers run tools as tasks, if their servers do: `tasks()` of `tenon/tasks`. The gateway has tasks of its own, in
   * both dialects, which follow those of the server. Default: calls wait for the tasks of servers.
   */
  tasks?: TaskRuntime | undefined
  /** How long a call waits for the answer of a caller without a session. Default 600,000. */
  parkedMs?: number | undefined
  /**
   * Connects the nodes of a gateway behind a load balancer: `redisStore(redis).bus`. A caller can then answer a question at any
   * node; all need the same `server.stateKey`. Default: a caller has to come back to the same node.
   */
  bus?: Bus | undefined
  /** Further options of the server that callers see: `limits`, `stateKey`, `questions`, `onError`. */
  server?:
    | Pick<ServerOptions, 'limits' | 'stateKey' | 'questions' | 'onError' | 'instructions' | 'revisions'>
    | undefined
}

/** Returns the token of a user for a server, by server id. */
export type UserTokens = Readonly<Record<string, (caller: GatewayCaller) => string | Promise<string>>>

/** Lets callers with a scope use some of the catalog. What no rule allows is hidden from the caller. */
export interface AccessRule {
  /** The scope that the token of the caller must have. Default: every caller. */
  readonly scope?: string | undefined
  /** The id of a server; `*` matches any text. Default: all servers. */
  readonly server?: string | readonly string[] | undefined
  /** The name of a tool, as its server defines it. Default: all tools. */
  readonly tool?: string | readonly string[] | undefined
}

/** Decides whether a caller may see and use something. Everything but `true` hides it. Called for each item of every list. */
export type AccessFunction = (caller: GatewayCaller, item: AccessItem) => boolean

/** A tool, prompt or resource behind a gateway. */
export interface AccessItem {
  /** The id of the server. */
  readonly server: string
  /** The name of the tool or prompt, as its server defines it. Undefined for resources. */
  readonly name: string | undefined
}

/** Who calls the gateway. */
export type GatewayCaller = Pick<Context, 'auth'>

/** Whether a caller may see and use a tool. */
export type IsAllowed = (caller: GatewayCaller, tool: Pick<HostTool, 'server' | 'originalName'>) => boolean
