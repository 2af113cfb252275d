import { type Command, InvalidArgumentError, Option } from 'commander'
import { type RevisionId, revisionIds } from 'tenon'

/** Options of every command. */
export interface OutputFlags {
  json?: boolean
  color: boolean
}

/** Options of commands that read config files. */
export interface ConfigFlags {
  config?: string
}

/** Options of commands that connect to a target. */
export interface ConnectionFlags {
  header?: Readonly<Record<string, string>>
  /** In milliseconds. */
  timeout?: number
  /** Lets the user log in, if the server requires it. */
  auth?: boolean
  /** Prints the wire on stderr. */
  trace?: boolean
}

/** The option that chooses a revision. */
export interface RevisionFlags {
  revision?: RevisionId
}

/** Options of every command that connects to one target. */
export type CommonFlags = OutputFlags & ConfigFlags & ConnectionFlags & RevisionFlags

/** Adds everything that a command with one target has: `addTargetOptions`, `--revision`, `--json` and `--no-color`. */
export function addCommonOptions(command: Command): void {
  addTargetOptions(command)
  addRevisionOption(command)
  addJsonOption(command)
  addColorOption(command)
}

/** Adds `--json`, which prints exactly one JSON document. */
export function addJsonOption(command: Command): void {
  command.option('--json', 'print one JSON document')
}

/** Adds `--no-color`. */
export function addColorOption(command: Command): void {
  command.option('--no-color', 'print without colors')
}

/** Adds `--config`, `--header`, `--timeout`, `--auth` and `--trace`. */
export function addTargetOptions(command: Command): void {
  addHostTargetOptions(command)
  command.option('--auth', 'log in with OAuth if the server requires it')
  addTraceOption(command)
}

/** Adds `--trace`. */
export function addTraceOption(command: Command): void {
  command.option('--trace', 'print what is sent and received, without secrets')
}

/** Adds `--config`, `--header` and `--timeout`, for commands that join several servers. */
export function addHostTargetOptions(command: Command): void {
  command
    .option('--config <file>', 'the config file with the servers')
    .option('--header <header>', "a header for a URL: 'Name: value' (repeatable)", parseHeader)
    .option('--timeout <seconds>', 'how long a server may take to answer', parseSeconds)
}

/** Adds `--revision`. */
export function addRevisionOption(command: Command): void {
  command.addOption(new Option('--revision <date>', 'the only protocol revision to use').choices([...revisionIds]))
}

/** Collects the values of an option that can be repeated. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value]
}

/** Parses a whole number, such as a port. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Pass a number from 0 to 65535; 0 picks a free port.')
}

/** Parses seconds, and returns milliseconds. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds > 0 && seconds <= maxSeconds) return seconds * 1_000
  throw new InvalidArgumentError(`Pass a number of seconds, at most ${maxSeconds}.`)
}

/** The longest timer of Node.js is about 24 days. */
const maxSeconds = 1_000_000

/** Parses `Name: value`, and adds it to the headers before it. */
export function parseHeader(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf(':')
  const name = text.slice(0, at).trim()
  if (at === -1 || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) {
    throw new InvalidArgumentError("Pass a name and a value: --header 'Authorization: Bearer <token>'.")
  }
  // `Object.fromEntries` creates own members for every name, also for `__proto__`.
  return Object.fromEntries([...Object.entries(before), [name, text.slice(at + 1).trim()]])
}
