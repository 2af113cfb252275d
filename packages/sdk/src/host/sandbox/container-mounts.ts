import { isAbsolutePath, isWithinAny, resolvePath, resolveRelative } from './paths.ts'

/** Returns the source of `source:target[:options]`, which may start with the drive of Windows. */
export function volumeSource(value: string): string {
  const drive = /^[A-Za-z]:[\\/]/.test(value) ? value.slice(0, 2) : ''
  return drive + (value.slice(drive.length).split(':', 1)[0] ?? '')
}

/** Returns the fields of `--mount`, with names in lower case; undefined if they are malformed. Runtimes read them as CSV. */
export function mountFields(value: string): [name: string, value: string][] | undefined {
  return csvFields(value)?.map((field) => {
    const at = field.indexOf('=')
    const name = at < 0 ? field : field.slice(0, at)
    return [name.trim().toLowerCase(), at < 0 ? '' : field.slice(at + 1)]
  })
}

/** Returns every source, because runtimes do not agree on which one counts. */
export function mountSources(value: string): string[] {
  return (mountFields(value) ?? []).filter(([name]) => isSource(name)).map(([, source]) => source)
}

function isSource(name: string): boolean {
  return name === 'src' || name === 'source'
}

function csvFields(line: string): string[] | undefined {
  const fields: string[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|$)/y
  for (;;) {
    const found = field.exec(line)
    if (!found) return undefined
    fields.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === '') return fields
  }
}

/** Resolves `.`, `..` and repeated slashes in a source, as the runtime does. */
export function resolveSource(source: string): string {
  const path = source.trim()
  return isAbsolutePath(path) ? resolvePath(path) : (resolveRelative(path) ?? path)
}

/** True for a named volume, or a folder of the user as the first part of `-v`. */
export function isPlainVolume(value: string): boolean {
  return !value.startsWith('-') && value.includes(':') && isPlainSource(volumeSource(value))
}

const plainFields: ReadonlySet<string> = new Set([
  ...['type', 'src', 'source', 'dst', 'destination', 'target', 'readonly', 'ro', 'consistency', 'relabel', 'z'],
  ...['bind-propagation', 'bind-recursive', 'bind-nonrecursive', 'volume-nocopy', 'tmpfs-size', 'tmpfs-mode'],
])

/** True if `--mount` is known to give a container only a named volume, memory, or a folder of the user. */
export function isPlainMount(value: string): boolean {
  const fields = mountFields(value) ?? [['malformed', value]]
  return fields.every(([name, given]) => {
    if (name === 'type') return /^(?:bind|volume|tmpfs)$/i.test(given)
    return isSource(name) ? isPlainSource(given) : plainFields.has(name)
  })
}

const systemFolders = [
  ...['/bin', '/sbin', '/libexec', '/usr', '/etc', '/boot', '/root', '/run', '/sys', '/proc', '/dev'],
  ...['/var/run', '/var/lib', '/var/spool', '/var/db', '/nix', '/gnu', '/snap', '/opt/homebrew', '/opt/local'],
  ...['/home/linuxbrew', '/system', '/library', '/applications'],
]

function isPlainSource(source: string): boolean {
  if (source === '' || /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(source)) return false
  // In lower case, because some file systems do not distinguish. On macOS, `/etc` and `/var` are links to folders of `/private`.
  const path = resolveSource(source)
    .toLowerCase()
    .replace(/^\/private(?=\/|$)/, '')
  const isWhole = /^(?:\/?|\/(?:var|home|users))$/.test(path) && isAbsolutePath(source)
  return (
    !isWhole && !isWithinAny(path, systemFolders) && !/^(?:\/lib\w*(?:\/|$)|[a-z]:\/(?:windows|program))/.test(path)
  )
}
