import type { IOType } from 'node:child_process'
import { writeSync } from 'node:fs'
import type { Stream, Writable } from 'node:stream'
import { type Described, type KeepsOutput, StdioClientTransport as StdioTransport } from 'tenon/client'
import { TransportFault as Fault, type RpcMessage } from 'tenon/jsonrpc'
import type { Transport } from '../shared/transport.ts'
import type { JSONRPCMessage } from '../types.ts'

/** How to start a server process. */
export type StdioServerParameters = {
  /** The program to start. */
  command: string
  args?: string[]
  /** Environment variables, added to those of `getDefaultEnvironment()`. */
  env?: Record<string, string>
  /** What to do with the stderr of the server, as for `child_process.spawn`. Default `inherit`. */
  stderr?: IOType | Stream | number
  /** The working directory. Default: that of this process. */
  cwd?: string
  /** The maximum size of a message in bytes. Default 10 MiB. */
  maxBufferSize?: number
}

/** The environment variables that server processes inherit. */
export const DEFAULT_INHERITED_ENV_VARS: string[] =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PROCESSOR_ARCHITECTURE',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'USERNAME',
        'USERPROFILE',
        'PROGRAMFILES',
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

/** Returns the environment variables that server processes inherit. Shell functions are left out. */
export function getDefaultEnvironment(): Record<string, string> {
  const entries = DEFAULT_INHERITED_ENV_VARS.map((name) => [name, process.env[name]] as const)
  const safe = entries.filter(([, value]) => value !== undefined && !value.startsWith('()'))
  return Object.fromEntries(safe) as Record<string, string>
}

/** The client side of stdio: starts a server process and talks to it over its stdin and stdout. */
export class StdioClientTransport implements Transport, Described, KeepsOutput {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  private readonly _tenonInner: StdioTransport
  private readonly _tenonMaxBytes: number
  private _tenonIsStarted = false
  private _tenonIsClosed = false

  constructor(server: StdioServerParameters) {
    const { command, args = [], env, cwd, stderr, maxBufferSize = 10 * 1024 * 1024 } = server
    this._tenonMaxBytes = maxBufferSize
    this._tenonInner = new StdioTransport({
      command,
      args,
      env: { ...getDefaultEnvironment(), ...env },
      cwd,
      stderr: toOutput(stderr),
      maxMessageBytes: maxBufferSize,
    })
    this._tenonListen()
  }

  /** Called by `start` again, because a program may have wrapped this object. */
  private _tenonListen(): void {
    this._tenonInner.onmessage = (message, _stream, kind) => this._tenonReceive(message, kind)
    this._tenonInner.onfault = (fault) => this._tenonRefuseInput(fault)
    this._tenonInner.onerror = (error) => this.onerror?.(error)
    this._tenonInner.onclose = () => this._tenonEnded()
  }

  /** Starts the server process. */
  async start(): Promise<void> {
    if (this._tenonIsStarted) throw new Error(alreadyStarted)
    this._tenonIsStarted = true
    this._tenonListen()
    try {
      await this._tenonInner.start()
    } catch (error) {
      const cause = (error as Error).cause instanceof Error ? ((error as Error).cause as Error) : (error as Error)
      this.onerror?.(cause)
      throw cause
    }
  }

  /** The stderr of the server, with `stderr: 'pipe'`. Available before the start. */
  get stderr(): Stream | null {
    return this._tenonInner.stderr
  }

  /** The id of the server process; null if it does not run. */
  get pid(): number | null {
    return this._tenonInner.pid ?? null
  }

  /** Ends the server process: closes its stdin and waits, then sends SIGTERM and SIGKILL. */
  async close(): Promise<void> {
    await this._tenonInner.close()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.pid === null) throw new Error('Not connected')
    this._tenonInner.send(message as RpcMessage)
  }

  /** @internal For clients on Tenon. */
  sendText(text: string): void {
    if (this.send === StdioClientTransport.prototype.send) this._tenonInner.sendText(text)
    else this.send(JSON.parse(text)).catch((error) => this.onerror?.(error))
  }

  /** For error messages of clients on Tenon. */
  get lastStderr(): string {
    return this._tenonInner.lastStderr
  }

  /** For error messages of clients on Tenon. */
  get strayOutput(): string {
    return this._tenonInner.strayOutput
  }

  /** For error messages of clients on Tenon. */
  get peerKey(): string {
    return this._tenonInner.peerKey
  }

  /** For error messages of clients on Tenon. */
  get address(): string {
    return this._tenonInner.address
  }

  private _tenonReceive(message: unknown, kind: unknown): void {
    if (kind instanceof Fault) this._tenonRefuse(kind)
    else this.onmessage?.(message as JSONRPCMessage)
  }

  private _tenonRefuseInput(fault: Fault): void {
    // A message that is too long has no end in sight, so the connection ends.
    if (!fault.message.startsWith('The message is longer than')) return this._tenonRefuse(fault)
    this.onerror?.(new Error(`ReadBuffer exceeded maximum size of ${this._tenonMaxBytes} bytes`))
    void this.close()
  }

  private _tenonRefuse(fault: { readonly message: string }): void {
    this.onerror?.(new Error(`Invalid message: ${fault.message}`))
  }

  private _tenonEnded(): void {
    if (this._tenonIsClosed) return
    this._tenonIsClosed = true
    this.onclose?.()
  }
}

const alreadyStarted =
  'StdioClientTransport already started! If using Client class, note that connect() calls start() automatically.'

type Output = NonNullable<ConstructorParameters<typeof StdioTransport>[0]['stderr']>

function toOutput(stderr: StdioServerParameters['stderr'] = 'inherit'): Output {
  if (typeof stderr === 'number') return stderr === 2 ? 'inherit' : (text) => void writeSync(stderr, text)
  if (stderr === 'overlapped' || stderr === 'pipe') return 'pipe'
  if (stderr === 'inherit' || stderr === 'ignore') return stderr
  return typeof stderr === 'object' && stderr !== null ? (stderr as Writable) : 'ignore'
}
