import type { Host, HostToolResult, Model, ServerStatus } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { fit } from '../columns.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { Agent } from './agent.ts'
import { quoted, viewToolResult } from './content-view.ts'
import type { LoadedModel } from './load-model.ts'
import { type ChatContext, runSlashCommand, ToolFailed } from './slash-commands.ts'
import type { Terminal } from './terminal.ts'

/** The loop: reads a line, runs it, shows the result. */
export class ChatLoop {
  readonly #host: Host
  readonly #output: Output
  readonly #terminal: Terminal
  readonly #loaded: LoadedModel
  readonly #agent: Agent | undefined
  #running: AbortController | undefined

  constructor(host: Host, output: Output, terminal: Terminal, loaded: LoadedModel) {
    this.#host = host
    this.#output = output
    this.#terminal = terminal
    this.#loaded = loaded
    this.#agent = 'model' in loaded ? this.#createAgent(loaded.model) : undefined
    // A server that keeps failing is reported once. What failed before is in the list of servers.
    const reported = new Map(host.servers.map((server) => [server.id, describeProblem(server)]))
    host.on('server', (event) => {
      const problem = describeProblem(event)
      if (problem === undefined || reported.get(event.id) === problem) return
      reported.set(event.id, problem)
      this.#interject(problem)
    })
    host.on('call', ({ tool, state, progress }) => {
      if (state === 'progress') this.#interject(`${tool}: ${describeProgress(progress)}`)
    })
  }

  async run(): Promise<void> {
    process.on('SIGINT', () => this.#cancel())
    for (;;) {
      const line = (await this.#terminal.lines.next())?.trim()
      if (line === undefined || line === '/quit') return
      if (line !== '') await this.#runLine(line)
    }
  }

  /** In a pipe, a line that fails makes the exit code 1, and the next lines run nevertheless. */
  async #runLine(line: string): Promise<void> {
    this.#running = new AbortController()
    try {
      if (line.startsWith('/')) await runSlashCommand(line, this.#context(this.#running.signal))
      else await this.#ask(line, this.#running.signal)
    } catch (error) {
      if (!this.#terminal.isInteractive) process.exitCode = exitCodes.error
      if (!(error instanceof ToolFailed)) this.#output.fail(error)
    } finally {
      this.#running = undefined
    }
  }

  #context(signal: AbortSignal): ChatContext {
    const connect = async (id: string) => {
      this.#terminal.denials.forget(id)
      await this.#host.connectServer(id)
    }
    return { host: this.#host, output: this.#output, signal, connect }
  }

  async #ask(text: string, signal: AbortSignal): Promise<void> {
    if (this.#agent) return this.#agent.ask(text, signal)
    const reason = 'reason' in this.#loaded ? this.#loaded.reason : ''
    throw new CliError('no-model', reason, { hint: 'You can use the tools yourself: type /tools, /call or /help.' })
  }

  #createAgent(model: Model): Agent {
    const { width, paint } = this.#output
    return new Agent({
      host: this.#host,
      model,
      onText: (text) => this.#output.print(...quoted(text, this.#output)),
      onCall: (name, args) =>
        this.#output.print(paint.faint(fit(safeLine(`→ ${name} ${JSON.stringify(args)}`), width))),
      onResult: (name, result) => this.#output.print(paint.faint(`← ${name}`), ...this.#viewResult(result)),
      onTaskEnd: (name, end) =>
        this.#terminal.lines.interject(() => {
          const lines = 'result' in end ? this.#viewResult(end.result) : quoted(end.error.message, this.#output)
          this.#output.print(paint.faint(`← ${name} (task)`), ...lines)
        }),
      // Without a terminal the program ends with its input, so results must not come later.
      background: this.#terminal.isInteractive,
    })
  }

  #viewResult(result: HostToolResult): string[] {
    const lines = viewToolResult(result, this.#output)
    const rest = lines.length - maxResultLines
    return [
      ...lines.slice(0, maxResultLines),
      ...(rest > 0 ? [this.#output.paint.faint(`  (${rest} more lines)`)] : []),
    ]
  }

  #interject(text: string): void {
    const { width, notePaint } = this.#output
    this.#terminal.lines.interject(() => this.#output.note(notePaint.faint(fit(safeLine(text, 1_000), width))))
  }

  /** The first Ctrl-C cancels the call, the second ends the program. */
  #cancel(): void {
    if (!this.#running || this.#running.signal.aborted) process.exit(130)
    this.#output.note('Cancelling. Press Ctrl-C again to leave.')
    this.#running.abort(new CliError('cancelled', 'Cancelled.', { exitCode: exitCodes.error }))
  }
}

/** The user sees the beginning of what the model reads. */
const maxResultLines = 12

function describeProblem({ id, state, error }: Pick<ServerStatus, 'id' | 'state' | 'error'>): string | undefined {
  if (state !== 'failed' && state !== 'held') return undefined
  const reason = error instanceof Error ? error.message : String(error)
  return `${id} is ${state}: ${reason.replace(`Server "${id}": `, '')}`
}

function describeProgress(progress: { progress: number; total?: number; message?: string } | undefined): string {
  if (!progress) return 'working'
  const { progress: done, total, message } = progress
  return [total === undefined ? `${done}` : `${done} of ${total}`, message].filter(Boolean).join('  ')
}
