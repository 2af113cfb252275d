/** True for `/a`, `C:\a`, `C:/a` and `\\server\share`. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path)
}

/** True if a path is the folder, or in it. Both are compared as they are written, so resolve them first. */
export function isWithin(path: string, folder: string): boolean {
  const base = folder.endsWith('/') ? folder.slice(0, -1) : folder
  return path === base || path === folder || path.startsWith(`${base}/`)
}

/** True if a path is in one of the folders. */
export function isWithinAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isWithin(path, folder))
}

/**
 * Resolves `.` and `..` in an absolute path, in the text only. Backslashes become slashes, and paths with a drive become lower
 * case, because Windows does not distinguish. A network path of Windows keeps its two slashes.
 */
export function resolvePath(path: string): string {
  const plain = path.replaceAll('\\', '/').replace(/^\/\/[?.]\/(?=[A-Za-z]:)/, '')
  if (/^\/?[A-Za-z]:(?:\/|$)/.test(plain)) return drivePath(plain)
  const isNetwork = path.startsWith('\\\\')
  return `${isNetwork ? '//' : '/'}${segmentsOf(plain).kept.join('/')}`
}

/** Resolves `.` and `..` in a relative path. Returns undefined if it leaves the folder that it starts in. */
export function resolveRelative(path: string): string | undefined {
  const { kept, isLeaving } = segmentsOf(path.replaceAll('\\', '/'))
  return isLeaving ? undefined : kept.join('/')
}

function drivePath(plain: string): string {
  const lower = plain.toLowerCase().replace(/^\//, '')
  return [lower.slice(0, 2), ...segmentsOf(lower.slice(2)).kept].join('/')
}

function segmentsOf(path: string): { kept: string[]; isLeaving: boolean } {
  const kept: string[] = []
  let isLeaving = false
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.pop() === undefined) isLeaving = true
  }
  return { kept, isLeaving }
}
