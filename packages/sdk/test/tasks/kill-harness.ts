import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TaskStore } from 'tenon/tasks'

const fixture = new URL('./fixtures/mortal.mjs', import.meta.url).pathname
const steps = ['one', 'two', 'three', 'four', 'five']
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'killer', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: { form: {} },
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
}

/** The writes of an undisturbed task: create, start, two steps, question, answer, start, three steps, end. */
export const writes = 11

export interface Lane {
  /** Arguments of the server processes after the folder. */
  readonly args: readonly string[]
  /** The same store, opened in this process. */
  readonly store: TaskStore
}

/** The outcome of one task whose server was killed. */
export interface KillReport {
  readonly run: string
  readonly at: number
  readonly when: 'before' | 'after'
  readonly wasKilled: boolean
  /** The final status of the task. */
  readonly status: string
  readonly text: string
  /** The value of each execution of each step. */
  readonly effects: Readonly<Record<string, string[]>>
  /** The values that were stored for each step. */
  readonly noted: Readonly<Record<string, string[]>>
  /** The number of tasks of this run. */
  readonly tasks: number
  /** How often a worker started the task. */
  readonly begins: number
}

/** `npm run chaos` runs it a thousand times. */
export const kills = Number(process.env.TENON_KILLS ?? 200)
/** The number of server pairs that run in parallel. They mostly wait for the leases of each other. */
export const lanes = 2

export async function killEverywhere(open: (lane: number) => Lane): Promise<string[]> {
  const problems: string[] = []
  const plans = Array.from({ length: kills }, (_, index) => ({
    run: `run${index}`,
    at: 1 + (Math.floor(index / 2) % writes),
    when: index % 2 === 0 ? ('before' as const) : ('after' as const),
  }))
  const work = async (number: number) => {
    const lane = new KillLane(open(number))
    try {
      for (let plan = plans.shift(); plan; plan = plans.shift()) {
        problems.push(...problemsOf(await lane.run(plan.run, plan.at, plan.when)))
      }
    } finally {
      await lane.close()
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => work(number)))
  return problems
}

export const title = `loses and duplicates nothing when a server is killed at any write, ${kills} times`
export const options = { timeout: kills * 5_000 }

/** Two servers with one store; a server that dies is restarted. */
export class KillLane {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tenon-kill-'))
  readonly #lane: Lane
  readonly #servers: Promise<Mortal>[] = []

  constructor(lane: Lane) {
    this.#lane = lane
    this.#plan('none', 0, 'before')
    for (const index of [0, 1]) this.#start(index)
  }

  async run(run: string, at: number, when: 'before' | 'after'): Promise<KillReport> {
    this.#plan(run, at, when)
    const id = await this.#create(run)
    for (;;) {
      const task = await this.#call('tasks/get', { taskId: id })
      if (task.inputRequests) {
        const answers = Object.keys(task.inputRequests as object).map((key) => [
          key,
          { action: 'accept', content: { sure: true } },
        ])
        await this.#call('tasks/update', { taskId: id, inputResponses: Object.fromEntries(answers) })
      }
      if (task.status === 'completed' || task.status === 'failed') return this.#report(run, at, when, id, task)
      await pause(15)
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    for (const server of await Promise.all(this.#servers)) server.child.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #isClosing = false

  #plan(run: string, at: number, when: string): void {
    writeFileSync(join(this.#folder, 'kill.json'), JSON.stringify({ run, at, when }))
  }

  #start(index: number): void {
    const child = fork(fixture, [this.#folder, ...this.#lane.args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#servers[index] = new Promise((resolve, reject) => {
      child.once('message', (message) => resolve({ child, url: (message as { url: string }).url }))
      child.once('exit', (code, signal) => {
        reject(new Error(`A server ended: ${code ?? signal}`))
        if (!this.#isClosing) this.#start(index)
      })
    })
    this.#servers[index].catch(() => {})
  }

  /** Calls until there is a task. After a crash the client does not know whether one was created, so it looks it up. */
  async #create(run: string): Promise<string> {
    for (;;) {
      try {
        const created = await this.#post(0, 'tools/call', { name: 'five', arguments: { run } })
        return created.taskId as string
      } catch {
        const [known] = await this.#tasksOf(run)
        if (known !== undefined) return known
      }
    }
  }

  async #tasksOf(run: string): Promise<string[]> {
    const entries = await this.#lane.store.list('p:killer', { limit: 1_000_000 })
    const found: string[] = []
    for (const { id } of entries.slice(-3)) {
      const [first = '{}'] = await this.#lane.store.notes(id)
      if (JSON.parse(first).request?.request.params.arguments.run === run) found.push(id)
    }
    return found
  }

  async #call(method: string, params: object): Promise<Record<string, unknown>> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#post(attempt % 2, method, params)
      } catch (error) {
        if (attempt > 200) throw error
        await pause(10)
      }
    }
  }

  async #post(index: number, method: string, params: object): Promise<Record<string, unknown>> {
    const { url } = await this.#servers[index]!
    const { taskId, name } = params as { taskId?: string; name?: string }
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': taskId ?? name ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: modernMeta } }),
    })
    const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: object }
    if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  async #report(
    run: string,
    at: number,
    when: 'before' | 'after',
    id: string,
    task: Record<string, unknown>,
  ): Promise<KillReport> {
    const lines = readFileSync(join(this.#folder, `effects-${run}`), 'utf8')
      .trim()
      .split('\n')
    const notes = (await this.#lane.store.notes(id)).map((note) => JSON.parse(note) as { once?: [string, string] })
    const once = notes.flatMap((note) => (note.once ? [`${note.once[0]} ${JSON.parse(note.once[1])}`] : []))
    const { content } = (task.result ?? {}) as { content?: { text: string }[] }
    return {
      run,
      at,
      when,
      wasKilled: existsSync(join(this.#folder, `killed-${run}`)),
      status: task.status as string,
      text: content?.[0]?.text ?? JSON.stringify(task.error),
      effects: byStep(lines),
      noted: byStep(once),
      tasks: (await this.#tasksOf(run)).length,
      begins: JSON.parse((await this.#lane.store.get(id))?.body ?? '{}').run,
    }
  }
}

interface Mortal {
  readonly child: ChildProcess
  readonly url: string
}

/** Returns the problems of a run as text. */
export function problemsOf(report: KillReport): string[] {
  const { at, when, status, text, effects, noted, tasks, wasKilled, run, begins } = report
  const problems: string[] = []
  const say = (problem: string) => problems.push(`${run}, killed ${when} write ${at}: ${problem}`)
  if (!wasKilled) say('no server was killed')
  if (status !== 'completed') say(`the task is ${status}: ${text}`)
  if (tasks !== 1) say(`there are ${tasks} tasks`)
  // On a busy machine a worker can be silent for so long that another takes over its task.
  let takenOver = begins - beginsAfter(at, when)
  if (takenOver < 0) say(`it was begun ${begins} times only`)
  for (const step of steps) {
    const values = noted[step] ?? []
    if (values.length !== 1) say(`${step} was noted ${values.length} times`)
    // A step that was executed but not stored when the process died is executed again; no other step is.
    const allowed = when === 'before' && step === stepOf(at) ? 2 : 1
    const executed = effects[step]?.length ?? 0
    if (executed < allowed || executed - allowed > takenOver)
      say(`${step} was executed ${executed} times, not ${allowed}`)
    takenOver -= Math.max(0, executed - allowed)
    if (!text.includes(values[0] ?? '?')) say(`the result does not have the value of ${step}`)
  }
  return problems
}

/** Returns 2 without a crash in a run: before and after the question. Writes 2 and 7 start a run. */
function beginsAfter(at: number, when: 'before' | 'after'): number {
  const isInRun = (at > 2 && at < 5) || (at > 7 && at < 11)
  const isAtEdge = when === 'after' ? at === 2 || at === 7 : at === 5 || at === 11
  return isInRun || isAtEdge ? 3 : 2
}

/** Returns the step that a write stores. */
function stepOf(write: number): string | undefined {
  return ({ 3: 'one', 4: 'two', 8: 'three', 9: 'four', 10: 'five' } as Record<number, string>)[write]
}

function byStep(lines: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const line of lines) {
    const [step = '', value = ''] = line.split(' ')
    found[step] = [...(found[step] ?? []), value]
  }
  return found
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
