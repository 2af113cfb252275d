import { existsSync, readFileSync } from 'node:fs'
import { isObject } from 'tenon/internal'
import { usageError } from '../exit-codes.ts'

/** An object in a JSON file. */
export type Members = Readonly<Record<string, unknown>>

/** Reads an object from a JSON file; undefined if there is no such file. */
export function readJsonFile(path: string): Members | undefined {
  if (!existsSync(path)) return undefined
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    throw usageError(`${path} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (isObject(value)) return value
  throw usageError(`${path} must contain an object.`)
}

/** A text that is not empty; undefined for everything else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** A copy without the members that are undefined. */
export function compact(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
