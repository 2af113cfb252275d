import type { ClientAuth } from '../auth/client/client-auth.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { version } from '../util/version.ts'
import type { ActionServer, Approve } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import { PatientAuditLog } from './audit/patient-log.ts'
import { parseServerConfigs } from './config/parse-config.ts'
import type { ServerConfigs } from './config/server-config.ts'
import type { Consent } from './consent.ts'
import type { Finding } from './findings/finding.ts'
import { redactSecrets } from './findings/secrets.ts'
import { Grants } from './grants.ts'
import { HostState, memoryHostStore } from './host-store.ts'
import type { HostInput, HostLimits, HostOptions } from './options.ts'
import type { PinnedDefinitions } from './pins.ts'
import { type CompiledPolicy, compilePolicy } from './policy-match.ts'
import { createServerRoots, pathFindings, type ServerRoots } from './roots.ts'
import { SamplingCoordinator } from './sampling.ts'
import { RootProvider } from './server-roots.ts'

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
}

type Limits = { readonly [K in keyof HostLimits]-?: NonNullable<HostLimits[K]> }

const defaultLimits: Limits = {
  listTimeoutMs: 5_000,
  connectTimeoutMs: 60_000,
  maxResultBytes: 4 * 1024 * 1024,
  maxDefinitionBytes: 4 * 1024 * 1024,
  questionsPerMinute: 10,
  strictArguments: true,
}

/** Reads the options of a host, and opens its store, audit log and configuration file. */
export async function openParts(options: HostOptions): Promise<HostParts> {
  const [servers, state, audit] = await Promise.all([
    readServers(options.servers),
    openState(options.store),
    openAudit(options.audit),
  ])
  return new HostParts(options, { servers, state, audit })
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
  /** Definitions that were approved since the host was created, by server id. */
  readonly approvedPins = new Map<string, PinnedDefinitions>()
  readonly limits: Limits
  readonly #options: HostOptions
  readonly #grants: Grants
  readonly #roots: ServerRoots

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
    this.#grants = new Grants({ state })
    this.#roots = createServerRoots(options.roots)
    audit?.append({ event: 'host-started', details: { servers: Object.keys(servers) } })
  }

  /** The grants of the user, or of one caller: those of a caller end with its session. */
  grantsFor(session: SessionOptions): Grants {
    return session.caller === undefined ? this.#grants : new Grants({ state: HostState.inMemory() })
  }

  samplingFor(consent: Consent, session: SessionOptions): Sampling | undefined {
    if (session.sampling !== undefined) return session.sampling || undefined
    const { model, samplingBudget } = this.#options
    if (!model) return undefined
    return new SamplingCoordinator({
      model,
      budget: samplingBudget,
      approve: async (action) => {
        const { allowed, edited } = await consent.decide(action)
        return { allowed, ...(edited && { edited }) }
      },
      audit: (record) => this.audit?.append({ ...record, caller: session.caller }),
    })
  }

  rootsFor(consent: Consent, session: SessionOptions): Roots | undefined {
    if (session.roots !== undefined) return session.roots || undefined
    return this.#options.roots ? new RootProvider(this.#roots, consent, this.audit) : undefined
  }

  /** Paths in arguments that are outside of the roots of the server. */
  pathFindings(server: string, args: Readonly<Record<string, unknown>>): readonly Finding[] {
    return pathFindings(args, this.#roots.rootsFor(server))
  }

  /** Throws a `ConfigError` if something is wrong with the servers; then nothing changes. */
  configure(servers: ServerConfigs): ServerConfigs {
    this.servers = parseServerConfigs(servers, { env: {}, cwd: '.' })
    this.audit?.append({ event: 'config-changed', details: { servers: Object.keys(servers) } })
    return this.servers
  }

  /** Closes what `openParts` opened. */
  async close(): Promise<void> {
    this.audit?.append({ event: 'host-closed', details: {} })
    await (typeof this.#options.audit === 'string' ? this.audit?.close() : this.audit?.flush())
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
