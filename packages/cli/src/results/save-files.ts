import { mkdirSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { CliError, exitCodes } from '../exit-codes.ts'

/** Bytes that a server sent, and names for them. */
export interface Binary {
  /** Base64. */
  readonly data: string
  readonly mimeType?: string | undefined
  /** Where it comes from, which gives the file its name. */
  readonly uri?: string | undefined
}

/** A file that was written. */
export interface SavedFile {
  readonly path: string
  readonly mimeType: string | null
  readonly bytes: number
}

/**
 * Writes bytes to a new file in the folder, which is created if it does not exist. A file that exists is never replaced.
 * @param name The name of the file if the URI gives none.
 */
export function saveFile({ data, mimeType, uri }: Binary, folder: string, name: string): SavedFile {
  const bytes = Buffer.from(data, 'base64')
  const { stem, extension } = fileName(uri, mimeType, name)
  try {
    mkdirSync(folder, { recursive: true })
    for (let copy = 1; copy < maxCopies; copy++) {
      const path = join(folder, `${stem}${copy === 1 ? '' : `-${copy}`}${extension}`)
      if (isWritten(path, bytes)) return { path, mimeType: mimeType ?? null, bytes: bytes.length }
    }
  } catch (error) {
    throw cannotSave(folder, error instanceof Error ? error.message : String(error))
  }
  throw cannotSave(folder, `there are too many files named ${stem}`)
}

const maxCopies = 10_000

function isWritten(path: string, bytes: Uint8Array): boolean {
  try {
    // Fails if there is anything with this name, also a link.
    writeFileSync(path, bytes, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function cannotSave(folder: string, reason: string): CliError {
  return new CliError('cannot-save', `Cannot save a file in ${folder}: ${reason}`, { exitCode: exitCodes.error })
}

/** A name without folders, hidden files, and names that Windows reserves. */
function fileName(uri: string | undefined, mimeType: string | undefined, fallback: string) {
  const last = uri === undefined ? '' : lastSegment(uri)
  const given = safeName(last) || safeName(fallback) || 'file'
  const found = extname(given)
  const stem = (found === '' ? given : given.slice(0, -found.length)) || 'file'
  const extension = found === '' ? (extensions[essence(mimeType)] ?? '.bin') : found
  return { stem: /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(stem) ? `_${stem}` : stem, extension }
}

function lastSegment(uri: string): string {
  const path = uri.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  const segment = path.slice(path.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function safeName(name: string): string {
  return name
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
    .slice(0, 80)
}

function essence(mimeType = ''): string {
  return mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

const extensions: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/json': '.json',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'audio/flac': '.flac',
  'audio/mp3': '.mp3',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/wav': '.wav',
  'audio/webm': '.weba',
  'audio/x-wav': '.wav',
  'image/avif': '.avif',
  'image/gif': '.gif',
  'image/jpeg': '.jpg',
  'image/jpg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
  'text/css': '.css',
  'text/csv': '.csv',
  'text/html': '.html',
  'text/markdown': '.md',
  'text/plain': '.txt',
  'video/mp4': '.mp4',
  'video/webm': '.webm',
}
