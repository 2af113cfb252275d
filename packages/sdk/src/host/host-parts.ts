import type { ClientAuth } from '../auth/client/client-auth.ts'
import { ErrorCode, McpError, ProtocolError } from '../errors.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { random } from '../util/random.ts'
import { version } from '../util/version.ts'
import type { ActionServer, Approve } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import { PatientAuditLog } from './audit/patient-log.ts'
import { parseServerConfigs } from './config/parse-config.ts'
import type { ServerConfigs } from './config/server-config.ts'
import type { Consent } from './consent.ts'
import type { Finding } from './findings/finding.ts'
import { inspectSampling } from './findings/inspect.ts'
import { redactSecrets } from './findings/secrets.ts'
import { FlowMemory } from './flow-memory.ts'
import { Grants } from './grants.ts'
import { HostState, memoryHostStore } from './host-store.ts'
import type { HostInput, HostLimits, HostOptions } from './options.ts'
import type { PinnedDefinitions } from './pins.ts'
import { checkPolicy, findUnknownKeys, findUnknownRoots, findUnknownServers } from './policy-check.ts'
import { type CompiledPolicy, compilePolicy } from './policy-match.ts'
import { createServerRoots, type HostRoots, pathFindings, type ServerRoots, watchAccess } from './roots.ts'
import { checkSampling, SamplingCoordinator } from './sampling.ts'
import type { SamplingAccount } from './sampling-budget.ts'
import { RootProvider } from './server-roots.ts'
import type { Taint } from './taint.ts'

/** Generates messages for servers. */
export interface Sampling {
  sample(
    server: ActionServer,
    params: CreateMessageParams,
    signal: AbortSignal,
    origin?: unknown,
  ): Promise<CreateMessageResult>
}

/** Gives roots to servers. */
export interface Roots {
  for(server: ActionServer, origin?: unknown): Promise<Root[]>
}

/** A host for one caller of a gateway: what differs from the host that it belongs to. */
export interface SessionOptions {
  /** Identifies the caller in the audit log. */
  readonly caller?: string | undefined
  readonly approve?: Approve | undefined
  /** Credentials of the caller for a server, instead of those of the configuration. */
  readonly authFor?: ((server: string) => ClientAuth | undefined) | undefined
  readonly input?: HostInput | undefined
  /** `false`: servers cannot request sampling, or roots. Default: those of the host. */
  readonly sampling?: Sampling | false | undefined
  readonly roots?: Roots | false | undefined
  /** @internal What the caller has received, if other sessions of the caller count as well. Default: what this session receives. */
  readonly taint?: Taint | undefined
}

type Limits = { readonly [K in keyof HostLimits]-?: NonNullable<HostLimits[K]> }

const defaultLimits: Limits = {
  listTimeoutMs: 5_000,
  connectTimeoutMs: 60_000,
  maxResultBytes: 4 * 1024 * 1024,
  maxDefinitionBytes: 4 * 1024 * 1024,
  questionsPerMinute: 10,
  maxFlowBytes: 64 * 1024 * 1024,
  strictArguments: true,
}

/** Reads the options of a host, and opens its store, audit log and configuration file. */
export async function openParts(options: HostOptions): Promise<HostParts> {
  const servers = await readServers(options.servers)
  // Before anything is opened.
  checkPolicy(options.policy)
  checkSampling({ ...options.sampling, ...(options.model && { model: options.model }) })
  const [unknown] = unknownServers(options, servers)
  if (unknown) throw unknown
  const [state, audit] = await Promise.all([openState(options.store), openAudit(options.audit)])
  return new HostParts(options, { servers, state, audit })
}

function unknownServers({ policy, roots, sampling, laterServers }: HostOptions, servers: ServerConfigs): TypeError[] {
  const ids = Object.keys(servers)
  return [
    ...findUnknownServers(policy, ids, laterServers),
    ...findUnknownRoots(roots, ids, laterServers),
    ...findUnknownKeys('sampling.budgets', sampling?.budgets, ids, laterServers),
  ]
}

interface Opened {
  readonly servers: ServerConfigs
  readonly state: HostState
  readonly audit: AuditLog | undefined
}

/** What the sessions of one host share. */
export class HostParts {
  servers: ServerConfigs
  readonly info: Implementation
  readonly policy: CompiledPolicy
  readonly approve: Approve | undefined
  readonly input: HostInput
  readonly audit: AuditLog | undefined
  readonly state: HostState
  /** Commands and URLs that were approved since the host was created: their digests by server id. */
  readonly approvedTargets = new Map<string, string>()
  /** For the digests of `approvedTargets`, and of approvals that are stored. */
  readonly salt = random.uuid()
  /** Definitions that were approved since the host was created, by server id. */
  readonly approvedPins = new Map<string, PinnedDefinitions>()
  readonly limits: Limits
  /** For the texts that all sessions remember, to recognize data of one server in the arguments for another. */
  readonly flowMemory: FlowMemory
  readonly #options: HostOptions
  readonly #grants: Grants
  /** What servers used of the model, in all sessions together. */
  readonly #samplingAccounts = new Map<string, SamplingAccount>()
  #roots: ServerRoots
  #givenRoots: HostRoots | undefined
  /** The servers that have or had roots; `all` if a list for all servers was given. Taking roots back does not lift the limit. */
  readonly #limited = { all: false, ids: new Set<string>() }
  #rootWatcher: { close(): void } | undefined
  /** Called when the roots, or the access to them, have changed. */
  onRootsChanged: () => void = () => {}

  constructor(options: HostOptions, { servers, state, audit }: Opened) {
    this.#options = options
    this.servers = servers
    this.state = state
    this.audit = audit
    this.info = options.info ?? { name: 'tenon', version }
    this.policy = compilePolicy(options.policy)
    this.approve = options.approve
    this.input = options.input ?? {}
    this.limits = { ...defaultLimits, ...definedOf(options.limits ?? {}) }
    this.flowMemory = new FlowMemory(this.limits.maxFlowBytes)
    this.#grants = new Grants({ state })
    this.#roots = this.#useRoots(options.roots)
    audit?.append({ event: 'host-started', details: { servers: Object.keys(servers) } })
  }

  /** The grants of the user, or of one caller: those of a caller end with its session. */
  grantsFor(session: SessionOptions): Grants {
    return session.caller === undefined ? this.#grants : new Grants({ state: HostState.inMemory() })
  }

  samplingFor(consent: Consent, session: SessionOptions): Sampling | undefined {
    if (session.sampling !== undefined) return session.sampling ? unlessForbidden(session.sampling, consent) : undefined
    const { model, sampling } = this.#options
    if (!model) return undefined
    return new SamplingCoordinator({
      ...sampling,
      model,
      accounts: this.#samplingAccounts,
      contextServers: async (action) => {
        const others = Object.keys(this.servers).filter((id) => id !== action.server.id)
        const isAllowed = await Promise.all(others.map((id) => consent.allowsContext({ ...action, contextFrom: [id] })))
        return others.filter((_, index) => isAllowed[index])
      },
      approve: async (action, signal) => {
        const findings = action.kind === 'sampling' ? inspectSampling(action.request) : []
        const { allowed, edited } = await consent.decide(action, findings, { signal })
        return { allowed, ...(edited && { edited }) }
      },
      audit: (record) => this.audit?.append({ ...record, caller: session.caller }),
    })
  }

  /** Whether servers get context in sampling requests. */
  hasContext(session: SessionOptions): boolean {
    const { model, sampling } = this.#options
    return session.sampling === undefined && model !== undefined && sampling?.context !== undefined
  }

  rootsFor(consent: Consent, session: SessionOptions): Roots | undefined {
    if (session.roots !== undefined) return session.roots || undefined
    return this.#options.roots ? new RootProvider((id) => this.#roots.rootsFor(id), consent, this.audit) : undefined
  }

  get roots(): readonly Root[] {
    return this.#roots.all
  }

  /** Replaces the roots. Throws if the host was created without any, because servers learn only on connect that there are some. */
  setRoots(roots: HostRoots): void {
    if (!this.#options.roots) {
      throw new McpError('invalid-argument', 'setRoots() needs a host with roots: pass roots: [] to createHost')
    }
    const [unknown] = findUnknownRoots(roots, Object.keys(this.servers), this.#options.laterServers)
    if (unknown) throw unknown
    this.#roots = this.#useRoots(roots)
    this.onRootsChanged()
  }

  #useRoots(given: HostRoots | undefined): ServerRoots {
    const roots = createServerRoots(given)
    this.#givenRoots = given
    if (Array.isArray(given)) this.#limited.all ||= given.length > 0
    else for (const [id, list] of Object.entries(given ?? {})) if (list.length > 0) this.#limited.ids.add(id)
    this.#watchRoots(roots)
    return roots
  }

  /** A folder that disappears, or appears, changes the list that servers may know. */
  #watchRoots({ all }: ServerRoots): void {
    this.#rootWatcher?.close()
    this.#rootWatcher = all.length > 0 ? watchAccess(all, () => this.onRootsChanged()) : undefined
  }

  /** Paths in arguments that are outside of the roots of the server. */
  pathFindings(server: string, args: Readonly<Record<string, unknown>>): readonly Finding[] {
    const { all, ids } = this.#limited
    return pathFindings(args, this.#roots.rootsFor(server), all || ids.has(server))
  }

  /** Throws a `ConfigError` if something is wrong with the servers; then nothing changes. */
  configure(servers: ServerConfigs): ServerConfigs {
    this.servers = parseServerConfigs(servers, { env: {}, cwd: '.' })
    this.audit?.append({ event: 'config-changed', details: { servers: Object.keys(servers) } })
    return this.servers
  }

  /** Rules of the policy, and roots, that name a server which is not configured, as errors. */
  unknownServers(): TypeError[] {
    return unknownServers({ ...this.#options, roots: this.#givenRoots }, this.servers)
  }

  /** Closes what `openParts` opened. */
  async close(): Promise<void> {
    this.#rootWatcher?.close()
    this.audit?.append({ event: 'host-closed', details: {} })
    await (typeof this.#options.audit === 'string' ? this.audit?.close() : this.audit?.flush())
  }
}

/**
 * A caller of a gateway approves its own sampling. What the policy denies does not reach it, nor what is suspicious or may carry
 * data of another server that a rule asks about, unless it is approved. The same holds for the message of its model.
 */
function unlessForbidden(sampling: Sampling, consent: Consent): Sampling {
  return {
    sample: async (server, params, signal, origin) => {
      const action = { kind: 'sampling', server, request: params } as const
      const findings = inspectSampling(params)
      const isHeld = findings.some(({ severity }) => severity === 'high')
      const context = { signal, origin }
      const before = consent.taintFor(server)
      const isAllowed = isHeld
        ? (await consent.decide(action, findings, context)).allowed
        : await consent.stillAllows(action, [], context)
      if (!isAllowed) {
        throw new ProtocolError(ErrorCode.InvalidRequest, 'The host does not allow this sampling request')
      }
      const result = await sampling.sample(server, params, signal, origin)
      const answer = { kind: 'sampling-result', server, request: params, result } as const
      if (await consent.stillAllows(answer, before, context)) return result
      throw new ProtocolError(ErrorCode.InvalidRequest, 'The host does not allow an answer to this request any more')
    },
  }
}

async function readServers(servers: HostOptions['servers']): Promise<ServerConfigs> {
  if (typeof servers === 'string') {
    const { readConfigFile } = await import('./node/config-file.ts')
    return readConfigFile(servers).servers
  }
  return parseServerConfigs(servers, { env: {}, cwd: '.' })
}

async function openState(store: HostOptions['store']): Promise<HostState> {
  if (typeof store !== 'string') return HostState.open(store ?? memoryHostStore())
  const { fileHostStore } = await import('./node/host-store-file.ts')
  return HostState.open(fileHostStore(store))
}

async function openAudit(audit: HostOptions['audit']): Promise<AuditLog | undefined> {
  if (audit === undefined) return undefined
  if (typeof audit !== 'string') return new PatientAuditLog(audit)
  const { fileAudit } = await import('./node/audit-file.ts')
  return new PatientAuditLog(await fileAudit(audit, { redact: redactSecrets }))
}

function definedOf(limits: HostLimits): Partial<Limits> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}
