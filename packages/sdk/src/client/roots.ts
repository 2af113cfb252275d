import { McpError } from '../errors.ts'
import type { Root } from '../protocol/roots.ts'
import type { RootList } from './handlers.ts'

/** Roots as they go out; throws on what is no folder of this machine (2025-11-25 roots, security considerations). */
export function checkRoots(roots: RootList): Root[] {
  if (!Array.isArray(roots)) throw new McpError('invalid-argument', 'roots must be a list')
  return roots.map((root: Root | string) => {
    const given = typeof root === 'string' ? { uri: root } : root
    const problem = rootProblem(given?.uri)
    if (problem === undefined) return given
    throw new McpError('invalid-argument', `The root ${JSON.stringify(String(given?.uri).slice(0, 200))} ${problem}`)
  })
}

function rootProblem(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^file:\/\//i.test(uri)) return 'is no file:// URI; make one with pathToFileURL()'
  // URL parsers take tabs and line ends out, which would hide the dots from us.
  if ([...uri].some((char) => char < ' ' || char === '\x7f')) return 'holds a control character'
  if (!URL.canParse(uri)) return 'is no valid URI'
  const { hostname, search, hash } = new URL(uri)
  if (hostname !== '') return 'is on another machine'
  if (search !== '' || hash !== '') return 'has a query or a fragment; write ? and # as %3F and %23'
  return climbs(uri) ? 'leads out of its folder (..), or holds a NUL' : undefined
}

/** Looked at as it was written: parsing it as a URL would resolve the dots. */
function climbs(uri: string): boolean {
  const plain = uri
    .replace(/%2e/gi, '.')
    .replace(/%(2f|5c)/gi, '/')
    .replaceAll('\\', '/')
  return plain.split('/').includes('..') || /%00|\0/.test(plain)
}
