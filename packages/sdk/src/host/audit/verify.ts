import { McpError } from '../../errors.ts'
import type { AuditHead, AuditLogOptions } from './audit.ts'
import { auditVersion, type Digest, firstPrev, type ParsedLine, parseLine } from './chain.ts'
import { webDigest } from './digest.ts'

/** A line of a log, and where it is. */
export interface AuditSourceLine {
  readonly text: string
  /** The name of the file, if there are several. */
  readonly file?: string | undefined
  /** The number of the line in its file. The first is 1. */
  readonly line: number
  /** The size of an incomplete line: the file ends without a line break after it. */
  readonly tornBytes?: number | undefined
}

/** The path of a file log, or the lines of a log: `memoryAudit().lines`, `sqliteAuditLines(path)`. */
export type AuditSource = string | Iterable<string> | AsyncIterable<AuditSourceLine>

/** Options of `verifyAudit`. */
export interface VerifyAuditOptions {
  /** The key that the log was written with. */
  key?: AuditLogOptions['key']
  /** A trusted `head` of the log. Without it, entries that were removed at the end are not detected. */
  head?: AuditHead | undefined
  /** The trusted last entry before this log, if older files were moved away. */
  after?: AuditHead | undefined
}

/** The result of `verifyAudit`. */
export interface AuditVerification {
  readonly ok: boolean
  /** The number of entries before the first problem. The first lines of files are not counted. */
  readonly entries: number
  /** The last entry before the first problem. */
  readonly head: AuditHead | undefined
  /** Torn lines that the log recorded when it was opened again. Each is the rest of a write that a crash interrupted. */
  readonly tornLines: number
  readonly problem: AuditProblem | undefined
}

/** The first problem of a log. */
export interface AuditProblem {
  /**
   * `changed`: the line is not as it was written. `truncated`: the line lost its end. `removed`: entries before the line, or at
   * the end of the log, are missing. `reordered`: the line is in the wrong place. `torn`: the last line is incomplete, as after a
   * crash; opening the log again records it.
   */
  readonly kind: 'changed' | 'truncated' | 'removed' | 'reordered' | 'torn'
  readonly file: string | undefined
  /** The number of the line in its file. The first is 1. */
  readonly line: number
  /** One sentence for the operator. */
  readonly message: string
}

/**
 * Checks every line of an audit log and reports the first problem. Follows the files of a log that was rotated.
 *
 * @example
 * const { ok, entries, problem } = await verifyAudit('audit.jsonl', { key, head })
 * console.log(ok ? `${entries} entries` : `${problem.file}:${problem.line}: ${problem.message}`)
 */
export async function verifyAudit(source: AuditSource, options: VerifyAuditOptions = {}): Promise<AuditVerification> {
  const { lines, digest } = await open(source, options.key)
  const verifier = new Verifier(digest, options)
  for await (const line of lines) if (!(await verifier.add(line))) break
  return verifier.finish()
}

interface OpenSource {
  readonly lines: AsyncIterable<AuditSourceLine> | Iterable<AuditSourceLine>
  readonly digest: Digest
}

async function open(source: AuditSource, key: AuditLogOptions['key']): Promise<OpenSource> {
  if (typeof source === 'string') {
    const { nodeDigest, readAuditFiles } = await import('../node/audit-file.ts')
    return { lines: readAuditFiles(source), digest: nodeDigest(key) }
  }
  return { lines: Symbol.asyncIterator in source ? source : numbered(source), digest: webDigest(key) }
}

function* numbered(lines: Iterable<string>): Iterable<AuditSourceLine> {
  let line = 0
  for (const text of lines) yield { text, line: ++line }
}

class Verifier {
  readonly #digest: Digest
  readonly #options: VerifyAuditOptions
  #head: AuditHead | undefined
  #entries = 0
  /** How it was before the last line, which can turn out to be replaced. */
  #before: { head: AuditHead | undefined; entries: number } = { head: undefined, entries: 0 }
  #tornLines = 0
  #last: AuditSourceLine | undefined
  /** The end of a file, without a line break. The first line of the next file must record it. */
  #torn: AuditSourceLine | undefined
  /** A line that skipped entries. Whether they were removed or moved shows when the rest was read. */
  #gap: { at: AuditSourceLine; missing: number } | undefined
  #problem: AuditProblem | undefined

  constructor(digest: Digest, options: VerifyAuditOptions) {
    this.#digest = digest
    this.#options = options
    this.#head = options.after
  }

  /** Returns whether to continue. */
  async add(source: AuditSourceLine): Promise<boolean> {
    const isTorn = source.tornBytes !== undefined
    const line = isTorn ? undefined : parseLine(source.text)
    const isIntact = line !== undefined && (await this.#digest(line.body)) === line.hash
    if (this.#gap) return this.#lookFor(isIntact ? line : undefined)
    if (isTorn) {
      this.#torn = source
      return this.#next(source)
    }
    if (line && this.#last === undefined) checkFormat(line, isIntact, this.#options.key)
    if (!line || !isIntact) return this.#fail(...damageOf(source, line), source)
    if (line.seq !== (this.#head?.seq ?? 0) + 1) return this.#misplaced(source, line)
    if (line.prev !== (this.#head?.hash ?? firstPrev)) return this.#replaced(source)
    if (!this.#accountsForTorn(line)) return this.#fail('truncated', 'The line lost its end.', this.#torn!)
    return this.#accept(source, line)
  }

  finish(): AuditVerification {
    if (this.#gap) this.#failAtGap('removed', 'One or more entries before the line are missing.')
    else if (!this.#problem) this.#checkEnd()
    const problem = this.#problem
    return { ok: !problem, entries: this.#entries, head: this.#head, tornLines: this.#tornLines, problem }
  }

  #accept(source: AuditSourceLine, { seq, hash, event }: ParsedLine): boolean {
    const { head } = this.#options
    if (head && seq === head.seq && hash !== head.hash) {
      return this.#fail('changed', `The entry ${seq} is not the one of the trusted head.`, source)
    }
    this.#before = { head: this.#head, entries: this.#entries }
    this.#head = { seq, hash }
    if (event !== 'segment') this.#entries++
    return this.#next(source)
  }

  #next(source: AuditSourceLine): boolean {
    this.#last = source
    return true
  }

  /** The sequence number is checked first, so here an intact line follows an entry that it was not written after. */
  #replaced(source: AuditSourceLine): boolean {
    if (!this.#last) return this.#fail('removed', 'The log does not start with its first entry.', source)
    this.#head = this.#before.head
    this.#entries = this.#before.entries
    return this.#fail('changed', 'The line was replaced: the next line was written after another one.', this.#last)
  }

  #misplaced(source: AuditSourceLine, { seq }: ParsedLine): boolean {
    const missing = (this.#head?.seq ?? 0) + 1
    if (seq < missing) return this.#fail('reordered', `The entry ${seq} is repeated, or in the wrong place.`, source)
    this.#gap = { at: source, missing }
    return true
  }

  #lookFor(line: ParsedLine | undefined): boolean {
    if (line?.seq !== this.#gap?.missing) return true
    return this.#failAtGap('reordered', 'The line is in the wrong place: an earlier entry follows it.')
  }

  #accountsForTorn({ event, details }: ParsedLine): boolean {
    if (!this.#torn) return true
    const { torn } = details as { torn?: { bytes?: unknown } | null }
    if (event !== 'segment' || torn?.bytes !== this.#torn.tornBytes) return false
    this.#torn = undefined
    this.#tornLines++
    return true
  }

  #checkEnd(): void {
    const { head } = this.#options
    const isShort = head !== undefined && head.seq > (this.#head?.seq ?? 0)
    const end = this.#last ?? { text: '', line: 1 }
    if (isShort) this.#fail('removed', `The log ends before the trusted head, which is entry ${head.seq}.`, end)
    else if (this.#torn) this.#fail('torn', 'The last line is incomplete, as after a crash.', this.#torn)
  }

  #failAtGap(kind: AuditProblem['kind'], message: string): boolean {
    const { at } = this.#gap!
    this.#gap = undefined
    return this.#fail(kind, message, at)
  }

  #fail(kind: AuditProblem['kind'], message: string, { file, line }: AuditSourceLine): boolean {
    this.#problem = { kind, file, line, message }
    return false
  }
}

function damageOf({ text }: AuditSourceLine, line: ParsedLine | undefined): ['changed' | 'truncated', string] {
  if (line === undefined && text.startsWith('{"seq":') && !text.endsWith('}'))
    return ['truncated', 'The line lost its end.']
  return ['changed', 'The line was changed after it was written, or the key is wrong.']
}

/** Throws if the log cannot be verified with these options or by this program. */
function checkFormat({ event, details }: ParsedLine, isIntact: boolean, key: AuditLogOptions['key']): void {
  if (event !== 'segment') return
  if (!isIntact && key === undefined && details.algorithm === 'hmac-sha256') {
    throw new McpError('invalid-argument', 'The audit log was written with a key. Pass the same `key` to verify it.')
  }
  if (!isIntact || details.version === auditVersion) return
  const versions = `version ${JSON.stringify(details.version)}, but this program reads version ${auditVersion}`
  throw new McpError(
    'invalid-argument',
    `The format of the audit log is ${versions}. Verify it with the program that wrote it.`,
  )
}
