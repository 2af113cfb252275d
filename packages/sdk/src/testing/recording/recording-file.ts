import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile } from '../../auth/node/replace-file.ts'
import { McpError } from '../../errors.ts'
import type { RpcMessage } from '../../jsonrpc/message.ts'
import { isObject } from '../../util/objects.ts'

/** One message of a recording. */
export interface RecordedLine {
  readonly from: 'client' | 'server'
  readonly message: RpcMessage
}

/** The first line of a file, which tells what it is. */
const header = { recording: 'mcp', version: 1 } as const

/** Writes a recording: JSON lines, a header and then one message per line. */
export async function writeRecording(path: string, lines: readonly RecordedLine[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const texts = [header, ...lines].map((line) => JSON.stringify(line))
  await replaceFile(path, `${texts.join('\n')}\n`)
}

/** Reads a recording. Throws if the file is missing, or is not a recording. */
export function readRecording(path: string): RecordedLine[] {
  if (!existsSync(path)) {
    throw new McpError(
      'invalid-argument',
      `Recording not found: ${path}. Record it with recordServer(), or with recordedServer() and TENON_RECORD=1.`,
    )
  }
  const [first, ...rest] = readFileSync(path, 'utf8')
    .split('\n')
    .map((text, index) => ({ text: text.trim(), number: index + 1 }))
    .filter(({ text }) => text !== '')
  const head = first === undefined ? undefined : parseLine(path, first.text, first.number)
  if (!isObject(head) || head.recording !== header.recording || head.version !== header.version)
    throw invalid(path, 1, `it must be ${JSON.stringify(header)}`)
  return rest.map(({ text, number }) => {
    const line = parseLine(path, text, number)
    if (isLine(line)) return line
    throw invalid(path, number, 'it must have "from" ("client" or "server") and "message"')
  })
}

function parseLine(path: string, text: string, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(path, number, cause instanceof Error ? cause.message : 'not JSON')
  }
}

function isLine(value: unknown): value is RecordedLine {
  return isObject(value) && (value.from === 'client' || value.from === 'server') && isObject(value.message)
}

function invalid(path: string, line: number, reason: string): McpError {
  return new McpError('invalid-argument', `Cannot read the recording ${path}: line ${line} is invalid: ${reason}.`)
}
