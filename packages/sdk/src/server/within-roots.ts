import type { Root } from '../protocol/roots.ts'

/**
 * Returns whether a file is inside one of the client's roots. Accepts `file:` URIs and absolute paths; anything else is outside.
 * Paths are compared as text, so resolve symbolic links first, for example with `fs.realpath`.
 *
 * @example
 * ```ts
 * if (!isWithinRoots(await realpath(path), await ctx.roots())) throw new ToolError('This file is outside of the roots.')
 * ```
 */
export function isWithinRoots(file: string | URL, roots: readonly Pick<Root, 'uri'>[]): boolean {
  const path = toPath(file)
  return path !== undefined && roots.some(({ uri }) => isInside(path, toPath(uri)))
}

function isInside(path: string, root: string | undefined): boolean {
  return root !== undefined && (path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`))
}

/** Returns the host and the path without `.`, `..` and a trailing slash; undefined if it is not a file. */
function toPath(file: string | URL): string | undefined {
  const text = isAbsolutePath(file) ? toFileUri(file) : String(file)
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The file system interprets an encoded separator or NUL differently than the URL.
  if (url?.protocol !== 'file:' || /%(2f|5c|00)/i.test(url.pathname)) return undefined
  try {
    const path = decodeURIComponent(url.pathname).replace(/\/+$/, '')
    const normal = path.replace(/^\/[a-z]:/, (drive) => drive.toUpperCase())
    return `//${url.host}${normal === '' ? '/' : normal}`
  } catch {
    return undefined
  }
}

function isAbsolutePath(file: string | URL): file is string {
  return typeof file === 'string' && /^(\/|[a-z]:[\\/])/i.test(file)
}

function toFileUri(path: string): string {
  const slashed = /^[a-z]:/i.test(path) ? `/${path.replaceAll('\\', '/')}` : path
  const encode = (part: string) => (/^[a-z]:$/i.test(part) ? part : encodeURIComponent(part))
  return `file://${slashed.split('/').map(encode).join('/')}`
}
