import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the page. */
export interface Asset {
  readonly type: string
  readonly body: Buffer
}

/** The folder of the built page. The path is the same from `src` and from `dist`. */
export const builtPage = fileURLToPath(new URL('../../dist/ui/', import.meta.url))

/** The files of the page. */
export class Assets {
  readonly #folder: string
  /** Files by their path in the URL. Only these can be read, so no path leads out of the folder. */
  #files: ReadonlyMap<string, string> | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Reads the file for a path such as `assets/index.js`; the empty path is the page itself. Undefined if there is none. */
  async read(path: string): Promise<Asset | undefined> {
    this.#files ??= listFiles(this.#folder)
    const file = this.#files.get(path === '' ? 'index.html' : path)
    if (file === undefined) return undefined
    return { type: types[extname(file).toLowerCase()] ?? 'application/octet-stream', body: await readFile(file) }
  }
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Returns undefined while the page is not built. */
function listFiles(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.map((entry) => join(entry.parentPath, entry.name))
  return new Map(files.map((file) => [file.slice(join(folder, sep).length).split(sep).join('/'), file]))
}
