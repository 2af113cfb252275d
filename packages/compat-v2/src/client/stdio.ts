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
  readonly #parameters: StdioServerParameters
  readonly #inner: StdioTransport
  #isStarted = false
  #isClosed = false
  #onCloseCall: (() => void) | undefined

  constructor(server: StdioServerParameters) {
    const { command, args, cwd, stderr, env, maxBufferSize } = server
    this.#parameters = server
    this.#inner = new StdioTransport({
      command,
      args,
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stderr: toOutput(stderr),
      maxMessageBytes: maxBufferSize,
    })
    this.#inner.onmessage = (message, _stream, kind) => {
      if (kind instanceof Fault) this.#refuse(kind)
      else this.onmessage?.(message as JSONRPCMessage)
    }
    this.#inner.onfault = (fault) => this.#refuse(fault)
    this.#inner.onerror = (error) => this.onerror?.(error)
    this.#inner.onclose = () => this.#ended()
  }

  /** Starts the server. */
  async start(): Promise<void> {
    if (this.#isStarted) {
      throw new Error(
        'StdioClientTransport already started! If using Client class, note that connect() calls start() automatically.',
      )
    }
    this.#isStarted = true
    try {
      await this.#inner.start()
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error)
      this.onerror?.(cause)
      throw cause
    }
  }

  /** The stderr of the server, with `stderr: 'pipe'`. */
  get stderr(): Stream | null {
    return this.#inner.stderr
  }

  /** The id of the child process, while it runs. */
  get pid(): number | null {
    return this.#isClosed ? null : (this.#inner.pid ?? null)
  }

  /** Ends the server. */
  async close(): Promise<void> {
    this.#onCloseCall?.()
    if (!this.#isStarted) return
    await this.#inner.close()
    this.#ended()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#isStarted || this.#isClosed) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    await this.#inner.send(message as RpcMessage)
  }

  /**
   * @internal A transport for another process of the same server, unless this is a subclass.
   * @param onClose Called if the program closes this transport meanwhile.
   */
  createSibling(onClose: () => void): StdioClientTransport | undefined {
    if (Object.getPrototypeOf(this) !== StdioClientTransport.prototype) return undefined
    this.#onCloseCall = onClose
    return new StdioClientTransport({ ...this.#parameters, stderr: 'ignore' })
  }

  #refuse({ message }: { readonly message: string }): void {
    this.onerror?.(new Error(`Invalid message: ${message}`))
  }

  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
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
