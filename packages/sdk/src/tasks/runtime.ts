import { checkAccess, principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import type { TaskFeed } from '../era/server.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { AuthInfo } from '../protocol/auth-info.ts'
import type { Caller } from '../protocol/caller.ts'
import type { Reply } from '../replay/conversation.ts'
import type { Context } from '../server/context.ts'
import type { RequestHandler, Serving } from '../server/dispatch.ts'
import { type AccessOptions, mayUse } from '../server/features/feature.ts'
import type { TaskMetrics, TaskRuntime, TaskServer, ToolTaskConfig } from '../server/task-runtime.ts'
import { clock } from '../util/clock.ts'
import { isObject, type JsonObject, omit, pick } from '../util/objects.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { coreDialect } from './core-dialect.ts'
import type { Dialect } from './dialect.ts'
import { extensionDialect } from './extension-dialect.ts'
import { listOf, listTasks } from './list.ts'
import { resolveOptions, type Settings, type TasksOptions } from './options.ts'
import { serveOrPromote } from './promote.ts'
import { type RefusedCall, TaskRefusals } from './refusals.ts'
import { type NewTask, ownerOf, TaskRepository, taskNotFound } from './repository.ts'
import { TaskResults } from './result.ts'
import { TaskRunner } from './runner.ts'
import { sendTaskStatus, TaskSubscriptions, TaskWatchers } from './subscriptions.ts'
import { isFinal, type ListedTask, type StoredRequest, type Task } from './task.ts'

/**
 * Lets tools run as tasks, which continue after the client disconnects. Pass the result to one `McpServer` and set
 * `taskSupport` on each tool that may run as a task. Its handler does not change.
 *
 * @example
 * const server = new McpServer(
 *   { name: 'reports', version: '1.0.0' },
 *   { tasks: tasks({ store: sqliteStore('./tasks.db').tasks }) },
 * )
 * server.registerTool('report', { execution: { taskSupport: 'optional' } }, async (ctx) => {
 *   ctx.task?.status('Reading')
 *   return createReport()
 * })
 */
export function tasks(options: TasksOptions = {}): TaskRuntime {
  return new Tasks(resolveOptions(options))
}

/** The pause before `start()` tries an unavailable store again. */
const retryMs = 5_000

class Tasks implements TaskRuntime {
  readonly #settings: Settings
  readonly #repository: TaskRepository
  readonly #watchers: TaskWatchers
  readonly #results: TaskResults
  readonly #refusals: TaskRefusals
  #server: TaskServer | undefined
  #runner: TaskRunner | undefined
  #retry: Timer | undefined
  #isStopped = false
  readonly methods: Readonly<Record<string, RequestHandler>>
  readonly feed: TaskFeed

  constructor(settings: Settings) {
    this.#settings = settings
    this.#repository = new TaskRepository(settings)
    this.#watchers = new TaskWatchers(settings.store)
    this.#refusals = new TaskRefusals((event) => this.#repository.report(event))
    const find = (id: string, ctx: Context) => this.#find(id, ctx.call)
    this.#results = new TaskResults(find, this.#repository, this.#watchers, () => this.#attached.questions.timeoutMs)
    this.methods = {
      'tasks/get': (params, ctx) => this.#get(params, ctx),
      'tasks/update': (params, ctx) => this.#update(params, ctx),
      'tasks/cancel': (params, ctx) => this.#cancel(params, ctx),
      'tasks/result': (params, ctx) => this.#results.wait(params.taskId as string, ctx),
      'tasks/list': (params, ctx) =>
        listTasks(params, ctx, this.#repository, (task) => mayUse(ctx, this.#accessTo(task))),
    }
    this.feed = new TaskSubscriptions({
      repository: this.#repository,
      watchers: this.#watchers,
      find: (id, call) => this.#find(id, call),
      reportError: (error) => this.#server?.reportError(error),
    })
  }

  attach(server: TaskServer): void {
    if (this.#server) throw new TypeError('tasks() belongs to one server. Call tasks() again for another server.')
    this.#server = server
    this.#repository.reportError = (error) => server.reportError(error)
    this.#runner = new TaskRunner(this.#settings, this.#repository, server, (task) =>
      this.#dialectOfTask(task).notifiesSession
        ? (method, params) => this.#watchers.notifyClient(task.id, method, params)
        : undefined,
    )
  }

  /** If the store is unavailable, tries again until it succeeds or `stop()` is called. */
  async start(): Promise<void> {
    scheduler.clearTimeout(this.#retry)
    this.#isStopped = false
    try {
      await this.#startOnce()
    } catch (error) {
      // The store may be closed as soon as the server is.
      if (this.#isStopped) return
      this.#retry = scheduler.setTimeout(
        () => void this.start().catch((again) => this.#server?.reportError(again)),
        retryMs,
      )
      scheduler.unref(this.#retry)
      throw error
    }
  }

  async #startOnce(): Promise<void> {
    await this.#watchers.start(
      (id) => void this.#runner?.changed(id).catch((error) => this.#server?.reportError(error)),
    )
    if (this.#isStopped) await this.#watchers.stop()
    else await this.#runner?.start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    scheduler.clearTimeout(this.#retry)
    await this.#runner?.stop()
    await this.#watchers.stop()
  }

  limited(call: RefusedCall): void {
    this.#refusals.rateLimited(call)
  }

  async metrics(): Promise<TaskMetrics> {
    const { store } = this.#settings
    const { oldestOpenAt, ...held } = store.usage ? await store.usage() : { open: await store.countOpen() }
    const { created, completed, failed, cancelled } = this.#repository.counts
    const refused = this.#refusals.counts
    return {
      finished: undefined,
      bytes: undefined,
      queued: undefined,
      ...held,
      oldestOpenMs: oldestOpenAt === undefined ? undefined : Math.max(0, clock.now() - oldestOpenAt),
      running: this.#runner?.running ?? 0,
      ...{ created, completed, failed, cancelled },
      lookupsFailed: refused['lookup-failed'],
      rateLimited: refused['rate-limited'],
    }
  }

  take(serving: Serving): Reply | PromiseLike<Reply> | undefined {
    const { exchange, caller } = serving
    const dialect = dialectOfCaller(caller)
    const params = exchange.request.params ?? {}
    const config = dialect && this.#attached.taskConfig(params)
    if (!config) return undefined
    const decision = dialect.decide(config, params, caller, this.#settings)
    if (decision === 'plain') return undefined
    // Checked before the task exists, so that the error response can name the missing scopes.
    checkAccess(exchange, config.requiredScopes)
    // A call can be promoted while it runs only if its conversation can be handed over.
    if (decision === 'task' || !serving.replay) return this.#create(serving, dialect, config)
    return serveOrPromote({
      ...decision,
      serving,
      replay: serving.replay,
      repository: this.#repository,
      runner: this.#runner!,
      newTask: this.#newTask(serving, dialect, config),
      created: (task) => serving.complete(dialect.created(task, this.#repository.pollInterval, config)),
    })
  }

  async #create(serving: Serving, dialect: Dialect, config: ToolTaskConfig): Promise<Reply> {
    const task = await this.#repository.create({ ...this.#newTask(serving, dialect, config), isReady: true })
    if (dialect.notifiesSession) {
      const source = { repository: this.#repository, watchers: this.#watchers }
      sendTaskStatus(task, serving.exchange, source, (error) => this.#attached.reportError(error))
    }
    return serving.complete(dialect.created(task, this.#repository.pollInterval, config))
  }

  #newTask(
    { exchange, caller }: Serving,
    dialect: Dialect,
    { requiredScopes }: ToolTaskConfig,
  ): Omit<NewTask, 'isReady'> {
    const { request, stream, link }: Call = exchange
    const http = stream?.request
    const { sessionId, auth, principal, isLocalUser } = link.transport
    const params = omit(request.params ?? {}, ['task', 'requestState', 'inputResponses'])
    const stored: StoredRequest = {
      request: { ...request, params },
      caller: {
        clientInfo: caller.clientInfo,
        capabilities: caller.capabilities,
        logLevel: caller.logLevel,
        canAnswer: caller.canAnswer,
      },
      ...(http
        ? { http: { url: http.url, principal: http.principal, auth: toStoredAuth(http.auth) } }
        : { peer: { principal, auth: toStoredAuth(auth), isLocalUser } }),
    }
    return {
      owner: ownerOf(principalOf(exchange)),
      listedFor: listOf(exchange),
      request: stored,
      revision: caller.revision,
      sessionId,
      ttlMs: dialect.ttlOf(request.params ?? {}),
      requiredScopes,
    }
  }

  async #get({ taskId }: Params, ctx: Context): Promise<ResultObject> {
    const dialect = this.#dialectFor(ctx)
    const task = await this.#find(taskId as string, ctx.call)
    // In 2026-07-28 the response includes the result.
    if (!dialect.notifiesSession && isFinal(task.status)) this.#repository.emit('retrieved', task)
    return dialect.described(task, this.#repository.pollInterval, ctx.caller)
  }

  async #update({ taskId, inputResponses }: Params, ctx: Context): Promise<ResultObject> {
    this.#dialectFor(ctx)
    const { id } = await this.#find(taskId as string, ctx.call)
    await this.#repository.answer(id, inputResponses as Record<string, unknown>)
    return {}
  }

  async #cancel({ taskId }: Params, ctx: Context): Promise<ResultObject> {
    const dialect = this.#dialectFor(ctx)
    let before = await this.#find(taskId as string, ctx.call)
    const outcome = { status: 'cancelled', statusMessage: 'Cancelled by the client' } as const
    const after = await this.#repository.end(before.id, outcome, (now) => {
      // The task may have changed since it was read: what the client is told depends on its status now.
      before = now
      return true
    })
    if (!after) throw taskNotFound()
    return dialect.cancelled(before, after, this.#repository.pollInterval)
  }

  #dialectFor(ctx: Context): Dialect {
    const dialect = dialectOfCaller(ctx.caller)!
    dialect.checkCaller(ctx.caller)
    return dialect
  }

  /** A caller needs the scopes of the tool to see, answer or cancel its tasks. */
  async #find(id: string, call: RefusedCall): Promise<Task> {
    const task = await this.#repository.get(id)
    // A task of another owner gives the same error after the same time as one that does not exist.
    if (task?.owner !== ownerOf(principalOf(call))) {
      this.#refusals.lookupFailed(call, id, task ? 'foreign' : 'unknown')
      throw taskNotFound()
    }
    try {
      checkAccess(call, this.#accessTo(task).requiredScopes)
    } catch (error) {
      this.#refusals.lookupFailed(call, id, 'scope')
      throw error
    }
    return task
  }

  /** The scopes that the tool had when the task was created, and those it has now. */
  #accessTo({ name, requiredScopes: stored }: ListedTask): AccessOptions {
    const current = this.#attached.taskConfig({ name })?.requiredScopes
    return { requiredScopes: stored && current ? [...new Set([...stored, ...current])] : (stored ?? current) }
  }

  #dialectOfTask({ revision }: Task): Dialect {
    const known = this.#attached.revision(revision)
    return known && !known.lacks('notifications/tasks') ? extensionDialect : coreDialect
  }

  get #attached(): TaskServer {
    if (!this.#server)
      throw new TypeError('tasks() has no server. Pass it to one: new McpServer(info, { tasks: tasks() })')
    return this.#server
  }
}

/** The tasks protocol of the caller's revision; undefined if it has none. */
function dialectOfCaller({ rules }: Caller): Dialect | undefined {
  if (!rules.lacks('notifications/tasks')) return extensionDialect
  return rules.lacks('notifications/tasks/status') ? undefined : coreDialect
}

/** `auth` may come from middleware of the application and contain secrets, so only members that are known are stored. */
function toStoredAuth(auth: AuthInfo | undefined): AuthInfo | undefined {
  if (!isObject(auth)) return undefined
  const { extra, user } = auth as JsonObject
  return {
    ...pick(auth as AuthInfo, storedMembers),
    ...(isObject(extra) && { extra }),
    ...((typeof user === 'string' || typeof user === 'number') && { user }),
  }
}

/** Those of `AuthInfo`, and common names for the id of a user. */
const storedMembers = [
  ...['issuer', 'subject', 'clientId', 'scopes', 'expiresAt', 'resource', 'claims'],
  ...['iss', 'sub', 'userId', 'user_id', 'uid'],
]
