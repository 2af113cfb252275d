import { ErrorCode, McpError } from '../errors.ts'
import type { Params } from '../jsonrpc/message.ts'
import { isObject } from '../util/objects.ts'
import { trimWhitespace } from '../util/trim-whitespace.ts'

/** Reads the headers of a request by name, in lower case. */
export interface HeaderReader {
  header(name: string): string | undefined
}

/** An argument of a tool that is repeated in a header. */
export interface MirroredArgument {
  /** In lower case: `mcp-param-region`. */
  readonly header: string
  /** The path of property names from the root of the arguments. */
  readonly path: readonly string[]
}

const sentinelStart = '=?base64?'
const sentinelEnd = '?='
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The member of the params that `Mcp-Name` repeats, by method. */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** Returns the value of `Mcp-Name` for a request; undefined if it has none. */
export function nameOf(method: string, params: Params | undefined): string | undefined {
  const member = nameMembers.get(method)
  const name = member === undefined ? undefined : params?.[member]
  return typeof name === 'string' ? name : undefined
}

/**
 * Encodes a text as a header value (2026-07-28 streamable-http, value encoding). Text that is not printable ASCII, starts or ends
 * with whitespace, or looks encoded is sent as Base64 of its UTF-8.
 */
export function encodeHeaderValue(value: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(value) && value.trim() === value && !looksEncoded(value)
  if (isPlain) return value
  return `${sentinelStart}${toBase64(new TextEncoder().encode(value))}${sentinelEnd}`
}

/** Decodes a header value; returns undefined if it is malformed. */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimWhitespace(header)
  if (!looksEncoded(value)) return /^[\t\x20-\x7e]*$/.test(value) ? value : undefined
  const inner = value.slice(sentinelStart.length, -sentinelEnd.length)
  if (!base64.test(inner)) return undefined
  const bytes = Uint8Array.from(atob(inner), (char) => char.charCodeAt(0))
  // Unused bits would allow two different headers for one text.
  if (toBase64(bytes) !== inner) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Describes what is wrong with `Mcp-Method` and `Mcp-Name`, or returns undefined. */
export function standardHeadersProblem(
  method: string,
  params: Params | undefined,
  headers: HeaderReader,
  required: boolean,
): string | undefined {
  const sent = headers.header('mcp-method')
  if (sent === undefined) {
    if (required) return 'The header Mcp-Method is missing'
  } else if (sent !== method && trimWhitespace(sent) !== method)
    return 'The header Mcp-Method does not match the method in the body'
  const name = nameOf(method, params)
  if (name === undefined) return undefined
  const mirrored = headers.header('mcp-name')
  if (mirrored === undefined) return required ? 'The header Mcp-Name is missing' : undefined
  return mirrored === name && !looksEncoded(name) ? plainProblem(name) : nameProblem(mirrored, name)
}

function plainProblem(name: string): string | undefined {
  return /^[\x20-\x7e]*$/.test(name) ? undefined : 'The header Mcp-Name has characters that must be encoded'
}

function nameProblem(mirrored: string, name: string): string | undefined {
  const decoded = decodeHeaderValue(mirrored)
  if (decoded === undefined) return 'The header Mcp-Name is malformed'
  return decoded === name ? undefined : 'The header Mcp-Name does not match the name in the body'
}

/**
 * Whether an error says that the headers of a request are not those that its server requires: -32020, or in sessions -32001 as
 * in the draft, a code that servers also use for other errors.
 */
export function isHeaderRefusal(code: unknown, message: unknown): boolean {
  return code === ErrorCode.HeaderMismatch || (code === -32001 && /\bheader\b/i.test(String(message)))
}

/** Finds the annotated arguments of a valid input schema. */
export function findMirroredArguments(schema: unknown, path: readonly string[] = []): MirroredArgument[] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    if (!isObject(property)) return []
    const here = [...path, name]
    const annotation = property['x-mcp-header']
    const own = typeof annotation === 'string' ? [{ header: `mcp-param-${annotation.toLowerCase()}`, path: here }] : []
    return [...own, ...findMirroredArguments(property, here)]
  })
}

/**
 * Returns the headers for a call; missing and null arguments have none.
 * @param isOptional Whether the revision does not require headers. Numbers then have one if they can be written exactly.
 */
export function mirrorArguments(
  mirrored: readonly MirroredArgument[],
  args: unknown,
  isOptional = false,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { header, path } of mirrored) {
    const value = valueAt(args, path)
    if (typeof value === 'string') headers[header] = encodeHeaderValue(value)
    else if (typeof value === 'boolean') headers[header] = String(value)
    else if (typeof value === 'number' && isOptional) {
      if (isPlainNumber(value)) headers[header] = String(value)
    } else if (Number.isInteger(value)) headers[header] = integer(value as number, path)
  }
  return headers
}

/**
 * Returns the HTTP headers that a call of a tool has to carry because of `x-mcp-header` in the tool's input schema (2026-07-28).
 * `Client` adds them itself; use this if you send requests in another way.
 */
export function toolHeaders(inputSchema: unknown, args: unknown): Record<string, string> {
  return mirrorArguments(findMirroredArguments(inputSchema), args)
}

/**
 * Describes what is wrong with the headers of a call, or returns undefined.
 * @param required Whether every annotated argument must have its header. Otherwise those that are present are checked.
 */
export function mirroredArgumentsProblem(
  mirrored: readonly MirroredArgument[],
  args: unknown,
  headers: HeaderReader,
  required = true,
): string | undefined {
  for (const { header: name, path } of mirrored) {
    const header = headers.header(name)
    const problem = header === undefined && !required ? undefined : argumentProblem(valueAt(args, path), header)
    if (problem !== undefined) return `The header ${name} ${problem} (argument ${path.join('.')})`
  }
  return undefined
}

function argumentProblem(value: unknown, header: string | undefined): string | undefined {
  const isAbsent = value === undefined || value === null
  if (header === undefined) return isAbsent || typeof value === 'object' ? undefined : 'is missing'
  const sent = decodeHeaderValue(header)
  if (sent === undefined) return 'is malformed'
  if (isAbsent) return 'is present, but the argument is missing'
  return matches(value, sent) ? undefined : 'does not match the argument in the body'
}

/** Compares numbers by value: 42.0 equals 42. Integers that JavaScript cannot represent exactly never match. */
function matches(value: unknown, sent: string): boolean {
  if (typeof value === 'string') return value === sent
  if (typeof value === 'boolean') return String(value) === sent
  if (typeof value !== 'number' || !number.test(sent)) return false
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false
  return Number(sent) === value
}

/** True for a number whose decimal digits are its value. */
function isPlainNumber(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : /^-?\d+\.\d+$/.test(String(value))
}

function integer(value: number, path: readonly string[]): string {
  if (Number.isSafeInteger(value)) return String(value)
  const what = `The argument ${path.join('.')} is sent in a header and must be between -(2^53)+1 and 2^53-1`
  throw new McpError('invalid-argument', what)
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

function looksEncoded(value: string): boolean {
  return (
    value.length >= sentinelStart.length + sentinelEnd.length &&
    value.startsWith(sentinelStart) &&
    value.endsWith(sentinelEnd)
  )
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}
