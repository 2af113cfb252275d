import { McpError } from '../../errors.ts'
import { findMirroredArguments, type MirroredArgument, mirrorArguments } from '../../protocol/mirrored-headers.ts'
import type { CallToolParams, CallToolResult, Tool, ToolExecution } from '../../protocol/tools.ts'
import { headerAnnotationProblem, sessionAnnotationProblem } from '../../protocol/x-mcp-header.ts'
import { compileCheck } from '../../schema/compile-check.ts'
import { describeIssues, toStandardIssues } from '../../schema/issues.ts'
import type { JsonSchemaCheck, JsonSchemaCompiler, SchemaError } from '../../schema/json-schema.ts'
import { isObject } from '../../util/objects.ts'

interface KnownTool {
  tool: Tool
  /** The number of list changes when the tool was read. */
  change: number
  /** Compiled when it is first needed; null if that failed. */
  check?: JsonSchemaCheck | null
  /** The arguments that are repeated in headers; found when they are first needed. */
  mirrored?: readonly MirroredArgument[]
}

/**
 * How annotated arguments are repeated in HTTP headers. `'optional'`: the revision does not know the headers. A call is sent
 * without those that cannot be made.
 */
export type Mirroring = 'required' | 'optional' | 'none'

/** Limits the tools that are remembered. Results of others are not checked. */
const maxKnown = 10_000

/** Limits the size of output schemas, in characters. */
const maxSchemaSize = 262_144

/** What the client knows about the tools of the server. An invalid tool is ignored; the others stay usable. */
export class ToolCatalog {
  readonly #known = new Map<string, KnownTool>()
  readonly #missing = new Set<string>()
  #changes = 0
  readonly #warn: (message: string) => void
  readonly #mirroring: () => Mirroring
  readonly #compileJsonSchema: JsonSchemaCompiler | undefined

  /**
   * @param mirroring Whether `x-mcp-header` annotations apply.
   * @param compile Compiles output schemas. Default: Tenon's own engine.
   */
  constructor(warn: (message: string) => void, mirroring: () => Mirroring, compile?: JsonSchemaCompiler) {
    this.#warn = warn
    this.#mirroring = mirroring
    this.#compileJsonSchema = compile
  }

  /** Remembers the tools of a list and returns those that are valid. */
  read(tools: readonly Tool[]): Tool[] {
    return tools.filter((tool) => this.#accept(tool))
  }

  /** Returns a list without the tools whose `x-mcp-header` annotations are invalid. Everything else stays as it was sent. */
  withoutInvalidHeaders(tools: readonly Tool[]): Tool[] {
    return tools.filter((tool) => problemOf(tool) !== undefined || this.#accept(tool))
  }

  /** Throws if structured content does not match the output schema. Results with `isError` are not checked. */
  checkOutput(name: string, result: Pick<CallToolResult, 'isError' | 'structuredContent'>): void {
    const known = this.#known.get(name)
    if (!known?.tool.outputSchema || result.isError) return
    if (known.check === undefined) known.check = this.#compile(known.tool)
    if (!known.check) return
    if (result.structuredContent === undefined) {
      throw new McpError('invalid-output', `The tool "${name}" has an output schema but returned no structured content`)
    }
    const issues = known.check(result.structuredContent)
    if (!issues) return
    const what = describeIssues(toStandardIssues(issues))
    throw new McpError(
      'invalid-output',
      `The tool "${name}" returned structured content that does not match its output schema: ${what}`,
    )
  }

  /** The HTTP headers of a call (2026-07-28 streamable-http, custom headers); undefined for an unknown tool. */
  headersOf({ name, arguments: args }: CallToolParams): Record<string, string> | undefined {
    const mirroring = this.#mirroring()
    const known = mirroring === 'none' ? undefined : this.#known.get(name)
    if (!known) return undefined
    known.mirrored ??= annotationProblem(known.tool, mirroring) ? [] : findMirroredArguments(known.tool.inputSchema)
    return known.mirrored.length === 0 ? undefined : mirrorArguments(known.mirrored, args, mirroring === 'optional')
  }

  /** Whether the server says that repeating a call has no further effect. */
  isIdempotent(name: string): boolean {
    const annotations = this.#known.get(name)?.tool.annotations
    return annotations?.readOnlyHint === true || annotations?.idempotentHint === true
  }

  /** Whether the tool was listed or looked up since the list last changed. */
  isKnown(name: string): boolean {
    return this.#known.get(name)?.change === this.#changes || this.#missing.has(name)
  }

  /** The tool was looked up but not found. It is not looked up again before the list changes. */
  noteMissing(name: string): void {
    if (!this.isKnown(name) && this.#missing.size < maxKnown) this.#missing.add(name)
  }

  taskSupport(name: string): NonNullable<ToolExecution['taskSupport']> {
    const support = this.#known.get(name)?.tool.execution?.taskSupport
    return support === 'required' || support === 'optional' ? support : 'forbidden'
  }

  /** The server announced that the list changed. */
  listChanged(): void {
    this.#changes++
    this.#missing.clear()
  }

  clear(): void {
    this.#known.clear()
    this.#missing.clear()
  }

  #accept(tool: Tool): boolean {
    const problem = problemOf(tool) ?? annotationProblem(tool, this.#mirroring())
    if (problem !== undefined) {
      this.#warn(`The tool ${nameOf(tool)} is invalid and ignored: ${problem}`)
      return false
    }
    if (this.#known.size < maxKnown || this.#known.has(tool.name)) {
      this.#known.set(tool.name, { tool, change: this.#changes })
    }
    return true
  }

  #compile(tool: Tool): JsonSchemaCheck | null {
    try {
      const size = JSON.stringify(tool.outputSchema).length
      if (size > maxSchemaSize)
        throw new RangeError(`the schema has ${size} characters, and the limit is ${maxSchemaSize}`)
      if (this.#compileJsonSchema) return this.#compileJsonSchema(tool.outputSchema!)
      const skipped: SchemaError[] = []
      // A server must not be able to block the client with an expensive schema.
      const check = compileCheck(tool.outputSchema!, {
        maxSteps: 1_000_000,
        onSkip: (reason) => skipped.push(reason),
      })
      if (skipped.length > 0) this.#warn(describeSkipped(tool.name, skipped))
      return check
    } catch (error) {
      this.#warn(
        `The output of the tool "${tool.name}" is not checked: ${error instanceof Error ? error.message : error}`,
      )
      return null
    }
  }
}

function describeSkipped(tool: string, [first, ...others]: SchemaError[]): string {
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return `Parts of the output schema of the tool "${tool}" are not checked: ${first?.message}${more}`
}

function annotationProblem({ inputSchema }: Tool, mirroring: Mirroring): string | undefined {
  if (mirroring === 'none') return undefined
  return mirroring === 'required' ? headerAnnotationProblem(inputSchema) : sessionAnnotationProblem(inputSchema)
}

function problemOf(tool: unknown): string | undefined {
  if (!isObject(tool)) return 'it is not an object'
  if (typeof tool.name !== 'string' || tool.name === '') return 'it has no name'
  return isObject(tool.inputSchema) ? undefined : 'it has no inputSchema'
}

function nameOf(tool: unknown): string {
  return isObject(tool) && typeof tool.name === 'string' ? `"${tool.name}"` : 'without a name'
}
