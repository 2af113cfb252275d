import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RevisionId } from 'tenon'
import { onTestFinished } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { connect } from '../../../src/connect/connect.ts'
import { isAlive, killed } from '../../kit/child-process.ts'

export const mixedRevisions: readonly RevisionId[] = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
]

const fixture = (name: string) => new URL(name, import.meta.url).pathname

/** A process of a test, which has said that it is ready. */
export interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly port: number
}

/** Starts a fixture and waits for its line `ready <url>`. It is killed when the test ends. */
export async function start(name: string, argument: string): Promise<Started> {
  const child = fork(fixture(name), [argument], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  onTestFinished(() => killed(child))
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000)
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const ready = /^ready (\S+)$/m.exec(output)
      if (ready) resolve(ready[1]!)
    })
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${errors}`)))
  })
  return { child, url, port: Number(new URL(url).port) }
}

/** Every run of a tool is a line of this file. */
export class Runs {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tenon-chaos-'))
  readonly file = join(this.#folder, 'runs')

  constructor() {
    writeFileSync(this.file, '')
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }))
  }

  ids(): string[] {
    return readFileSync(this.file, 'utf8').split('\n').filter(Boolean)
  }

  /** Ids of calls that ran more than once. */
  repeated(): string[] {
    const seen = new Set<string>()
    return this.ids().filter((id) => seen.size === seen.add(id).size)
  }
}

/** The servers of a chaos test: `desk` (stdio, a connection per caller), `feed` (stdio, shared by all), `shop` (HTTP). */
export async function startServers(runs: Runs) {
  const stdio = (scheme: string) => ({
    command: process.execPath,
    args: [fixture('stdio-server.fixture.js'), runs.file, scheme],
  })
  const shop = await start('http-server.fixture.js', runs.file)
  return { desk: stdio('desk'), feed: { ...stdio('feed'), shared: true }, shop: { url: shop.url } }
}

/** A caller of a gateway, with everything that reached it. */
export class Caller {
  readonly questions: string[] = []
  readonly logs: string[] = []
  readonly updates: string[] = []
  readonly name: string
  readonly client: Client

  private constructor(name: string, client: Client) {
    this.name = name
    this.client = client
  }

  static async connect(url: string, number: number, revision: RevisionId, options: object = {}): Promise<Caller> {
    // No name is a part of another.
    const name = `caller-${1_000 + number}`
    const questions: string[] = []
    const elicit = ({ message }: { message: string }) => {
      questions.push(message)
      return { action: 'accept' as const, content: {} }
    }
    const client = await connect(url, { revision, handlers: { elicit }, logLevel: 'debug', ...options })
    onTestFinished(() => client.close().catch(() => {}))
    const caller = new Caller(name, client)
    Object.assign(caller, { questions })
    client.on('log', ({ data }) => caller.logs.push(String(data)))
    client.on('resourceUpdated', ({ uri }) => caller.updates.push(uri))
    return caller
  }

  get canBeAsked(): boolean {
    return this.client.revision >= '2025-06-18'
  }

  /** Questions and log messages that belong to someone else. */
  get foreign(): string[] {
    return [...this.questions, ...this.logs].filter((message) => !message.includes(this.name))
  }

  async call(tool: string, args: Record<string, unknown> = {}): Promise<string> {
    const result = await this.client.callTool(tool, args).catch((error) => {
      throw new Error(`${tool} of ${this.name} (${this.client.revision}): ${error}`)
    })
    if (result.isError) throw new Error(`${tool} of ${this.name} (${this.client.revision}): ${result.text}`)
    return result.text
  }
}

/** Connects callers of all revisions in turn. */
export function connectCallers(url: string, count: number, options: object = {}): Promise<Caller[]> {
  return Promise.all(
    Array.from({ length: count }, (_, number) =>
      Caller.connect(url, number, mixedRevisions[number % mixedRevisions.length]!, options),
    ),
  )
}

/** The processes below a process that are alive (Linux). */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const parent = parentOf(Number(entry))
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
  }
  const below = (id: number): number[] => (children.get(id) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid).filter(isAlive)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // The process ended meanwhile.
    return undefined
  }
}

/** Resident memory of a process in MB, its peak, and its threads' CPU time in seconds (Linux). */
export function memoryOf(pid: number): { nowMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { nowMb: Math.round(mb('VmRSS')), peakMb: Math.round(mb('VmHWM')) }
}

/** Heap that a gateway uses after a garbage collection, in bytes. */
export async function heapOf({ child }: Started): Promise<number> {
  const answer = once(child, 'message')
  child.send('heap')
  const [bytes] = await answer
  return bytes as number
}

/** Sends a signal and waits for the end of a process. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(child, 'exit')
  child.kill(signal)
  const [code] = await exit
  return code
}
