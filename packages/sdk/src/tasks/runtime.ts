import { checkAccess, principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import type { Caller, Reply, TaskFeed } from '../era/server.ts'
import { ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Context } from '../server/context.ts'
import type { RequestHandler, Serving } from '../server/dispatch.ts'
import { type Guarded, mayUse } from '../server/features/feature.ts'
import type { TaskHost, TaskRuntime, ToolTaskConfig } from '../server/task-runtime.ts'
import type { AuthInfo } from '../util/auth-info.ts'
import { isObject, type JsonObject, omit, pick } from '../util/objects.ts'
import { unref } from '../util/unref.ts'
import { coreDialect } from './core-dialect.ts'
import type { Dialect } from './dialect.ts'
import { extensionDialect } from './extension-dialect.ts'
import { TaskFollowers } from './followers.ts'
import { listOf, listTasks } from './list.ts'
import { resolveOptions, type Settings, type TasksOptions } from './options.ts'
import { serveFor } from './promote.ts'
import { type NewTask, ownerOf, TaskRepository } from './repository.ts'
import { TaskResults } from './result.ts'
import { TaskRunner } from './runner.ts'
import { sendTaskStatus } from './status-notifications.ts'
import { isFinal, type KeptRequest, type ListedTask, type Task } from './task.ts'
import { TaskWatchers } from './watchers.ts'

/**
 * Lets tools run as tasks that clients come back to: `execution: { taskSupport: 'optional' }` on a tool, and the same handler.
 *
 * @example
 * const server = new McpServer(info, { tasks: tasks({ store: sqliteStore('./tasks.db').tasks }) })
 */
export function tasks(options: TasksOptions = {}): TaskRuntime {
  return new Tasks(resolveOptions(options))
}

/** Until a store that could not be worked with is tried again. */
const retryMs = 5_000

class Tasks implements TaskRuntime {
  readonly #settings: Settings
  readonly #book: TaskRepository
  readonly #watchers: TaskWatchers
  readonly #results: TaskResults
  #host: TaskHost | undefined
  #runner: TaskRunner | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  readonly methods: Readonly<Record<string, RequestHandler>>
  readonly feed: TaskFeed

  constructor(settings: Settings) {
    this.#settings = settings
    this.#book = new TaskRepository(settings)
    this.#watchers = new TaskWatchers(settings.store)
    const find = (id: string, ctx: Context) => this.#find(id, ctx.call)
    this.#results = new TaskResults(find, this.#book, this.#watchers, () => this.#attached.questions.timeoutMs)
    this.methods = {
      'tasks/get': (params, ctx) => this.#get(params, ctx),
      'tasks/update': (params, ctx) => this.#update(params, ctx),
      'tasks/cancel': (params, ctx) => this.#cancel(params, ctx),
      'tasks/result': (params, ctx) => this.#results.wait(params.taskId as string, ctx),
      'tasks/list': (params, ctx) => listTasks(params, ctx, this.#book, (task) => mayUse(ctx, this.#guardOf(task))),
    }
    this.feed = new TaskFollowers({
      book: this.#book,
      watchers: this.#watchers,
      find: (id, call) => this.#find(id, call),
      reportError: (error) => this.#host?.reportError(error),
    })
  }

  attach(host: TaskHost): void {
    if (this.#host) throw new TypeError('tasks() serves one server; make another for another server')
    this.#host = host
    this.#book.reportError = (error) => host.reportError(error)
    this.#runner = new TaskRunner(this.#settings, this.#book, host, (task) =>
      this.#dialectOf(task).tellsSession ? (method, params) => this.#watchers.say(task.id, method, params) : undefined,
    )
  }

  /** A store that is away for a moment is asked again, until it is there or we are stopped. */
  async start(): Promise<void> {
    clearTimeout(this.#retry)
    try {
      await this.#begin()
    } catch (error) {
      this.#retry = setTimeout(() => void this.start().catch((again) => this.#host?.reportError(again)), retryMs)
      unref(this.#retry)
      throw error
    }
  }

  async #begin(): Promise<void> {
    await this.#watchers.start((id) => void this.#runner?.changed(id).catch((error) => this.#host?.reportError(error)))
    await this.#runner?.start()
  }

  async stop(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#runner?.stop()
    await this.#watchers.stop()
  }

  take(serving: Serving): Reply | PromiseLike<Reply> | undefined {
    const { exchange, caller } = serving
    const dialect = dialectOf(caller)
    const params = exchange.request.params ?? {}
    const config = dialect && this.#attached.taskConfig(params)
    if (!config) return undefined
    const decision = dialect.decide(config, params, caller, this.#settings)
    if (decision === 'plain') return undefined
    // Now, when the client can still be told which permission to ask for.
    checkAccess(exchange, config.requiredScopes)
    if (decision === 'task') return this.#create(serving, dialect, config)
    return serveFor(decision.afterMs, decision.always, {
      serving,
      book: this.#book,
      runner: this.#runner!,
      newTask: this.#newTask(serving, dialect, config),
      created: (task) => serving.complete(dialect.created(task, this.#book.pace, config)),
    })
  }

  async #create(serving: Serving, dialect: Dialect, config: ToolTaskConfig): Promise<Reply> {
    const task = await this.#book.create({ ...this.#newTask(serving, dialect, config), isReady: true })
    if (dialect.tellsSession) {
      const kept = { book: this.#book, watchers: this.#watchers }
      sendTaskStatus(task, serving.exchange, kept, (error) => this.#attached.reportError(error))
    }
    return serving.complete(dialect.created(task, this.#book.pace, config))
  }

  #newTask(
    { exchange, caller }: Serving,
    dialect: Dialect,
    { requiredScopes }: ToolTaskConfig,
  ): Omit<NewTask, 'isReady'> {
    const { request, stream, link } = exchange
    const http = stream?.request
    const { sessionId, auth, principal, isLocalUser } = link.transport
    const params = omit(request.params ?? {}, ['task', 'requestState', 'inputResponses'])
    const kept: KeptRequest = {
      request: { ...request, params },
      caller: {
        clientInfo: caller.clientInfo,
        capabilities: caller.capabilities,
        logLevel: caller.logLevel,
        answers: caller.answers,
      },
      ...(http
        ? { http: { url: http.url, principal: http.principal, auth: withoutToken(http.auth) } }
        : { peer: { principal, auth: withoutToken(auth), isLocalUser } }),
    }
    return {
      owner: ownerOf(principalOf(exchange)),
      listedFor: listOf(exchange),
      request: kept,
      revision: caller.revision,
      sessionId,
      ttlMs: dialect.ttlOf(request.params ?? {}),
      requiredScopes,
    }
  }

  async #get({ taskId }: Params, ctx: Context): Promise<ResultObject> {
    const dialect = this.#check(ctx)
    const task = await this.#find(taskId as string, ctx.call)
    // In 2026-07-28 this brings the result too.
    if (!dialect.tellsSession && isFinal(task.status)) this.#book.tell('retrieved', task)
    return dialect.described(task, this.#book.pace, ctx.caller)
  }

  async #update({ taskId, inputResponses }: Params, ctx: Context): Promise<ResultObject> {
    this.#check(ctx)
    const { id } = await this.#find(taskId as string, ctx.call)
    await this.#book.answer(id, inputResponses as Record<string, unknown>)
    return {}
  }

  async #cancel({ taskId }: Params, ctx: Context): Promise<ResultObject> {
    const dialect = this.#check(ctx)
    let before = await this.#find(taskId as string, ctx.call)
    const outcome = { status: 'cancelled', statusMessage: 'Cancelled by the client' } as const
    const after = await this.#book.end(before.id, outcome, (now) => {
      // Two may cancel at once; the one who comes second finds it ended.
      before = now
      return true
    })
    if (!after) throw new ProtocolError(RpcCode.InvalidParams, 'There is no such task, or no longer')
    return dialect.cancelled(before, after, this.#book.pace)
  }

  #check(ctx: Context): Dialect {
    const dialect = dialectOf(ctx.caller)!
    dialect.checkCaller(ctx.caller)
    return dialect
  }

  /** A task is as secret as its tool: whoever may not call that may not see, answer or cancel it either. */
  async #find(id: string, call: Pick<Call, 'stream' | 'link'>): Promise<Task> {
    const task = await this.#book.find(id, ownerOf(principalOf(call)))
    checkAccess(call, this.#guardOf(task).requiredScopes)
    return task
  }

  /** The scopes that the tool had when the task was created, and those it has now: neither may be lost by a change of the tool. */
  #guardOf({ name, requiredScopes: kept }: ListedTask): Guarded {
    const current = this.#attached.taskConfig({ name })?.requiredScopes
    return { requiredScopes: kept && current ? [...new Set([...kept, ...current])] : (kept ?? current) }
  }

  #dialectOf({ revision }: Task): Dialect {
    const known = this.#attached.revision(revision)
    return known && !known.lacks('notifications/tasks') ? extensionDialect : coreDialect
  }

  get #attached(): TaskHost {
    if (!this.#host) throw new TypeError('Give tasks() to a server: new McpServer(info, { tasks: tasks() })')
    return this.#host
  }
}

/** Which kind of tasks the caller's revision has; undefined for those that have none. */
function dialectOf({ rules }: Caller): Dialect | undefined {
  if (!rules.lacks('notifications/tasks')) return extensionDialect
  return rules.lacks('notifications/tasks/status') ? undefined : coreDialect
}

/** What a layer in front of us left may contain tokens and passwords, so only what is known to be harmless is kept. */
function withoutToken(auth: AuthInfo | undefined): AuthInfo | undefined {
  if (!isObject(auth)) return undefined
  const { extra, user } = auth as JsonObject
  return {
    ...pick(auth as AuthInfo, keptMembers),
    ...(isObject(extra) && { extra }),
    ...((typeof user === 'string' || typeof user === 'number') && { user }),
  }
}

/** Those of `AuthInfo`, and those in which other layers say who the user is. */
const keptMembers = [
  ...['issuer', 'subject', 'clientId', 'scopes', 'expiresAt', 'resource', 'claims'],
  ...['iss', 'sub', 'userId', 'user_id', 'uid'],
]
