import { McpError } from '../../errors.ts'
import type { Root } from '../../protocol/roots.ts'
import type { RootList } from './handlers.ts'

/**
 * Normalizes roots; throws if one is not a local path (2025-11-25 roots, security considerations). The URI identifies a root, so
 * only the first with a URI is kept.
 */
export function checkRoots(roots: RootList): Root[] {
  if (!Array.isArray(roots)) throw new McpError('invalid-argument', 'roots must be an array')
  const uris = new Set<string>()
  const isNew = ({ uri }: Root) => !uris.has(uri) && uris.add(uri)
  return roots.map(checkRoot).filter(isNew)
}

function checkRoot(root: Root | string): Root {
  const given = typeof root === 'string' ? { uri: toUri(root) } : root
  const problem = rootProblem(given?.uri)
  if (problem === undefined) return given
  throw new McpError(
    'invalid-argument',
    `Invalid root ${JSON.stringify(String(given?.uri).slice(0, 200))}: it ${problem}`,
  )
}

/** Folders can be given as absolute paths. */
function toUri(root: string): string {
  const isDrive = /^[a-z]:[\\/]/i.test(root)
  if (!isDrive && !root.startsWith('/')) return root
  const path = isDrive ? `/${root.replaceAll('\\', '/')}` : root
  return `file://${path.replace(/[%?#]/g, encodeURIComponent).replaceAll(' ', '%20')}`
}

function rootProblem(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^file:\/\//i.test(uri)) return 'is neither an absolute path nor a file:// URI'
  // URL parsers remove tabs and line breaks, which could hide dot segments.
  if ([...uri].some((char) => char < ' ' || char === '\x7f')) return 'contains a control character'
  if (!URL.canParse(uri)) return 'is not a valid URI'
  const { hostname, search, hash } = new URL(uri)
  if (hostname !== '') return 'is on another machine'
  if (search !== '' || hash !== '') return 'has a query or a fragment. Encode ? and # as %3F and %23.'
  return isTraversal(uri) ? 'contains ".." segments or NUL characters' : undefined
}

/** Checks the text, because parsing a URL resolves dot segments. */
function isTraversal(uri: string): boolean {
  const plain = uri
    .replace(/%2e/gi, '.')
    .replace(/%(2f|5c)/gi, '/')
    .replaceAll('\\', '/')
  return plain.split('/').includes('..') || /%00|\0/.test(plain)
}
