import type { IOType } from 'node:child_process'
import { writeSync } from 'node:fs'
import type { Stream, Writable } from 'node:stream'
import { StdioClientTransport as StdioTransport } from 'tenon/client'
import { TransportFault as Fault, type RpcMessage } from 'tenon/jsonrpc'
import { SdkError, SdkErrorCode } from '../core/errors.ts'
import type { Transport } from '../core/transport.ts'
import type { JSONRPCMessage } from '../core/types.ts'

/** How to start a server process. */
export type StdioServerParameters = {
  /** The program to start. */
  command: string
  args?: string[]
  /** The environment. Default: a safe part of that of this process. */
  env?: Record<string, string>
  /** What to do with the stderr of the server. Default `inherit`. */
  stderr?: IOType | Stream | number
  /** The working directory. Default: that of this process. */
  cwd?: string
  /** Longer messages are refused. Default 10 MiB. */
  maxBufferSize?: number
}

const inherited =
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

/** The environment variables that servers inherit if `env` is not given. */
export const DEFAULT_INHERITED_ENV_VARS: string[] = inherited

/** Returns the environment variables that are safe to pass on. */
export function getDefaultEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    // Functions that a shell exports are code.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value
  }
  return environment
}

/** Starts a server as a child process, and talks to it over its stdin and stdout. */
export class StdioClientTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  private readonly _tenonParameters: StdioServerParameters
  private readonly _tenonInner: StdioTransport
  private _tenonIsStarted = false
  private _tenonIsClosed = false
  private _tenonOnCloseCall: (() => void) | undefined

  constructor(server: StdioServerParameters) {
    const { command, args, cwd, stderr, env, maxBufferSize } = server
    this._tenonParameters = server
    this._tenonInner = new StdioTransport({
      command,
      args,
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stderr: toOutput(stderr),
      maxMessageBytes: maxBufferSize,
    })
    this._tenonListen()
  }

  /** Called by `start` again, because a program may have wrapped this object. */
  private _tenonListen(): void {
    this._tenonInner.onmessage = (message, _stream, kind) => {
      if (kind instanceof Fault) this._tenonRefuse(kind)
      else this.onmessage?.(message as JSONRPCMessage)
    }
    this._tenonInner.onfault = (fault) => this._tenonRefuse(fault)
    this._tenonInner.onerror = (error) => this.onerror?.(error)
    this._tenonInner.onclose = () => this._tenonEnded()
  }

  /** Starts the server. */
  async start(): Promise<void> {
    if (this._tenonIsStarted) {
      throw new Error(
        'StdioClientTransport already started! If using Client class, note that connect() calls start() automatically.',
      )
    }
    this._tenonIsStarted = true
    this._tenonListen()
    try {
      await this._tenonInner.start()
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
      this.onerror?.(cause)
      throw cause
    }
  }

  /** The stderr of the server, with `stderr: 'pipe'`. */
  get stderr(): Stream | null {
    return this._tenonInner.stderr
  }

  /** The id of the child process, while it runs. */
  get pid(): number | null {
    return this._tenonIsClosed ? null : (this._tenonInner.pid ?? null)
  }

  /** Ends the server. */
  async close(): Promise<void> {
    this._tenonOnCloseCall?.()
    if (!this._tenonIsStarted) return
    await this._tenonInner.close()
    this._tenonEnded()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this._tenonIsStarted || this._tenonIsClosed) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    await this._tenonInner.send(message as RpcMessage)
  }

  /**
   * @internal A transport for another process of the same server, unless this is a subclass.
   * @param onClose Called if the program closes this transport meanwhile.
   */
  createSibling(onClose: () => void): StdioClientTransport | undefined {
    if (Object.getPrototypeOf(this) !== StdioClientTransport.prototype) return undefined
    this._tenonOnCloseCall = onClose
    return new StdioClientTransport({ ...this._tenonParameters, stderr: 'ignore' })
  }

  private _tenonRefuse({ message }: { readonly message: string }): void {
    this.onerror?.(new Error(`Invalid message: ${message}`))
  }

  private _tenonEnded(): void {
    if (this._tenonIsClosed) return
    this._tenonIsClosed = true
    this.onclose?.()
  }
}

type Output = NonNullable<ConstructorParameters<typeof StdioTransport>[0]['stderr']>

function toOutput(stderr: StdioServerParameters['stderr'] = 'inherit'): Output {
  if (typeof stderr === 'number') return stderr === 2 ? 'inherit' : (text) => void writeSync(stderr, text)
  if (stderr === 'overlapped' || stderr === 'pipe') return 'pipe'
  if (stderr === 'inherit' || stderr === 'ignore') return stderr
  return typeof stderr === 'object' && stderr !== null ? (stderr as Writable) : 'ignore'
}
