import type { BlobResourceContents, ContentBlock, TextResourceContents } from 'tenon'
import { safeJson, safeLine, safeText } from 'tenon/internal'
import type { Output } from '../output.ts'
import { type Binary, type SavedFile, saveFile } from './save-files.ts'

/** Options of commands that print content. */
export interface ContentFlags {
  /** The folder for images, audio and other files. */
  output?: string
  /** Prints exactly what the server sent. */
  raw?: boolean
}

/** What is shown: texts for stdout, and files that were written. */
export class ContentWriter {
  readonly files: SavedFile[] = []
  readonly #output: Output
  readonly #flags: ContentFlags
  readonly #name: string
  #hasOutput = false

  /** @param name Part of the names of files that have no name of their own. */
  constructor(output: Output, flags: ContentFlags, name: string) {
    this.#output = output
    this.#flags = flags
    this.#name = name
  }

  /** Saves what has to be saved and, without `--json`, prints the rest. */
  block(block: ContentBlock): void {
    switch (block.type) {
      case 'text':
        return this.text(block.text)
      case 'image':
      case 'audio':
        return this.#binary({ data: block.data, mimeType: block.mimeType })
      case 'resource':
        return this.resource(block.resource)
      case 'resource_link':
        return this.text(block.name ? `${block.name}  ${block.uri}` : block.uri)
      default:
        return this.text(safeJson(block))
    }
  }

  /** The contents of a resource. */
  resource(contents: TextResourceContents | BlobResourceContents): void {
    if ('text' in contents && typeof contents.text === 'string') return this.text(contents.text)
    const { uri, mimeType } = contents
    const { blob = '' } = contents as Partial<BlobResourceContents>
    this.#binary({ data: blob, mimeType, uri })
  }

  text(text: string): void {
    if (this.#output.isJson) return
    if (!this.#flags.raw) return this.#output.print(safeText(text, Number.POSITIVE_INFINITY))
    process.stdout.write(this.#hasOutput ? `\n${text}` : text)
    this.#hasOutput = true
  }

  #binary(binary: Binary): void {
    const { output: folder, raw } = this.#flags
    if (folder !== undefined) return this.#save(binary, folder)
    if (this.#output.isJson) return
    if (raw) return void process.stdout.write(Buffer.from(binary.data, 'base64'))
    const bytes = Buffer.byteLength(binary.data, 'base64')
    const type = safeLine(binary.mimeType ?? 'binary data', 100)
    this.#output.note(`(${type}, ${bytes} bytes: save it with --output <folder>)`)
  }

  #save(binary: Binary, folder: string): void {
    const file = saveFile(binary, folder, `${this.#name}-${this.files.length + 1}`)
    this.files.push(file)
    if (!this.#output.isJson) this.#output.print(safeText(file.path))
  }
}
