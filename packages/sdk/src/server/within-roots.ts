import type { Root } from '../protocol/roots.ts'

/**
 * Whether a file lies in one of the client's roots. Takes `file:` URIs and absolute paths; anything else is outside. Paths are
 * compared as text: resolve symbolic links first, for example with `fs.realpath`.
 *
 * @example
 * if (!isWithinRoots(await realpath(path), await ctx.roots())) throw new ToolError('This file is outside of the roots.')
 */
export function isWithinRoots(file: string | URL, roots: readonly Pick<Root, 'uri'>[]): boolean {
  const path = toPath(file)
  return path !== undefined && roots.some(({ uri }) => isInside(path, toPath(uri)))
}

function isInside(path: string, root: string | undefined): boolean {
  return root !== undefined && (path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`))
}

/** The host and the path, without `.`, `..` and a slash at the end; undefined for what is not a file. */
function toPath(file: string | URL): string | undefined {
  const text = isAbsolutePath(file) ? toFileUri(file) : String(file)
  const url = URL.canParse(text) ? new URL(text) : undefined
  // An encoded separator, or NUL, means something else to the file system than to the URL.
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
