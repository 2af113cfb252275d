import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { redactSecrets } from './secrets.ts'
import { findSplitSecrets } from './split-blocks.ts'
import { binaryMember, readBlob } from './texts.ts'

/**
 * Copies a result with its secrets replaced by text such as `[redacted GitHub token]`: in text, structured content, text files and
 * names. Images and other binary data stay as they are.
 */
export function redactResult<R extends object>(result: R): R {
  const redacted = redactSecrets(withDecodedFiles(result, 0)) as R
  redactSplitSecrets(redacted)
  return redacted
}

/** Secrets of which every part is in another content block: the first part is replaced, the others are removed. */
function redactSplitSecrets(copy: unknown): void {
  const blocks: { text: string }[] = []
  collectBlocks(copy, blocks, 0)
  // From the end, so that the positions before it stay right.
  for (const { kind, parts } of findSplitSecrets(blocks.map(({ text }) => text)).reverse()) {
    for (const [index, { block: number, start, end }] of parts.entries()) {
      const block = blocks[number]!
      block.text = block.text.slice(0, start) + (index === 0 ? `[redacted ${kind}]` : '') + block.text.slice(end)
    }
  }
}

function collectBlocks(value: unknown, blocks: { text: string }[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return
  if (Array.isArray(value)) {
    for (const item of value) collectBlocks(item, blocks, depth + 1)
    return
  }
  if (!isObject(value)) return
  for (const key of Object.keys(value)) {
    if (key === 'text' && typeof value.text === 'string') blocks.push(value as { text: string })
    else collectBlocks(value[key], blocks, depth + 1)
  }
}

const maxDepth = 600

/** Text files that contain a secret become text in the encoding UTF-8; the others stay as they are. */
function withDecodedFiles(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => withDecodedFiles(item, depth + 1))
  if (!isObject(value)) return value
  const binary = binaryMember(value)
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) {
    const member = value[key]
    define(
      copy,
      key,
      key === binary ? redactFile(member as string, value.mimeType) : withDecodedFiles(member, depth + 1),
    )
  }
  return copy
}

function redactFile(data: string, mimeType: unknown): string {
  const text = readBlob(data, mimeType)
  if (text === undefined) return data
  const redacted = String(redactSecrets(text))
  return redacted === text ? data : toBase64(new TextEncoder().encode(redacted))
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += chunk)
    binary += String.fromCharCode(...bytes.subarray(start, start + chunk))
  return btoa(binary)
}

const chunk = 8_192
