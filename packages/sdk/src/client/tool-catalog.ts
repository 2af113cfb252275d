import { McpError } from '../errors.ts'
import { findMirroredArguments, type MirroredArgument, mirrorArguments } from '../protocol/mirrored-headers.ts'
import type { CallToolParams, CallToolResult, Tool, ToolExecution } from '../protocol/tools.ts'
import { headerAnnotationProblem } from '../protocol/x-mcp-header.ts'
import { describeIssues, toStandardIssues } from '../schema/issues.ts'
import { compileJsonSchema, type JsonSchemaCheck, type SchemaError } from '../schema/json-schema.ts'
import { isObject } from '../util/objects.ts'

interface Known {
  tool: Tool
  /** How often the list had changed when it was read. */
  change: number
  /** Compiled when first needed; null when it cannot be. */
  check?: JsonSchemaCheck | null
  /** The arguments that go into headers too; found when first needed. */
  mirrored?: readonly MirroredArgument[]
}

/** Definitions kept; a list longer than this is not checked against. */
const maxKnown = 10_000

/** Characters of an output schema that is checked against. */
const maxSchemaSize = 262_144

/** What the client knows about the server's tools. One bad tool never hides the others. */
export class ToolCatalog {
  readonly #known = new Map<string, Known>()
  readonly #missing = new Set<string>()
  #changes = 0
  readonly #warn: (message: string) => void
  readonly #readsHeaders: () => boolean

  /** @param readsHeaders True where `x-mcp-header` is acted on. */
  constructor(warn: (message: string) => void, readsHeaders: () => boolean) {
    this.#warn = warn
    this.#readsHeaders = readsHeaders
  }

  /** The usable tools of a list. */
  read(tools: readonly unknown[]): Tool[] {
    return tools.filter((tool): tool is Tool => this.#accept(tool))
  }

  /** Throws when structured content is not what the tool promised; a tool that failed promised nothing. */
  checkOutput(name: string, result: Pick<CallToolResult, 'isError' | 'structuredContent'>): void {
    const known = this.#known.get(name)
    if (!known?.tool.outputSchema || result.isError) return
    if (known.check === undefined) known.check = this.#compile(known.tool)
    if (!known.check) return
    if (result.structuredContent === undefined) {
      throw new McpError('invalid-output', `The tool ${name} has an output schema but returned no structured content`)
    }
    const issues = known.check(result.structuredContent)
    if (!issues) return
    const what = describeIssues(toStandardIssues(issues))
    throw new McpError(
      'invalid-output',
      `The tool ${name} returned structured content that its schema refuses: ${what}`,
    )
  }

  /** The headers that a call carries on HTTP (2026-07-28 streamable-http, custom headers); none for an unknown tool. */
  headersOf({ name, arguments: args }: CallToolParams): Record<string, string> | undefined {
    const known = this.#known.get(name)
    if (!known) return undefined
    known.mirrored ??= findMirroredArguments(known.tool.inputSchema)
    return known.mirrored.length === 0 ? undefined : mirrorArguments(known.mirrored, args)
  }

  /** Whether the server says that a second call does no more than the first. */
  isIdempotent(name: unknown): boolean {
    const annotations = this.#known.get(name as string)?.tool.annotations
    return annotations?.readOnlyHint === true || annotations?.idempotentHint === true
  }

  /** Whether the tool was listed, or looked for, since the list last changed. */
  isKnown(name: string): boolean {
    return this.#known.get(name)?.change === this.#changes || this.#missing.has(name)
  }

  /** It was looked for; it is not looked for again before the list changes. */
  noteMissing(name: string): void {
    if (!this.isKnown(name) && this.#missing.size < maxKnown) this.#missing.add(name)
  }

  taskSupport(name: string): NonNullable<ToolExecution['taskSupport']> {
    const support = this.#known.get(name)?.tool.execution?.taskSupport
    return support === 'required' || support === 'optional' ? support : 'forbidden'
  }

  /** The list is no longer what it was. */
  listChanged(): void {
    this.#changes++
    this.#missing.clear()
  }

  clear(): void {
    this.#known.clear()
    this.#missing.clear()
  }

  #accept(tool: unknown): boolean {
    const problem =
      problemOf(tool) ?? (this.#readsHeaders() ? headerAnnotationProblem((tool as Tool).inputSchema) : undefined)
    if (problem !== undefined) {
      this.#warn(`The tool ${nameOf(tool)} is left out: ${problem}`)
      return false
    }
    const { name } = tool as Tool
    if (this.#known.size < maxKnown || this.#known.has(name))
      this.#known.set(name, { tool: tool as Tool, change: this.#changes })
    return true
  }

  #compile(tool: Tool): JsonSchemaCheck | null {
    try {
      const size = JSON.stringify(tool.outputSchema).length
      if (size > maxSchemaSize) throw new RangeError(`the schema has ${size} characters, more than ${maxSchemaSize}`)
      const skipped: SchemaError[] = []
      // The server is not trusted with our time, so few steps must do.
      const check = compileJsonSchema(tool.outputSchema!, {
        maxSteps: 1_000_000,
        onSkip: (reason) => skipped.push(reason),
      })
      if (skipped.length > 0) this.#warn(describeSkipped(tool.name, skipped))
      return check
    } catch (error) {
      this.#warn(`The output of the tool ${tool.name} is not checked: ${(error as Error).message}`)
      return null
    }
  }
}

function describeSkipped(tool: string, [first, ...others]: SchemaError[]): string {
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return `The output schema of the tool ${tool} cannot be checked in part: ${first!.message}${more}`
}

function problemOf(tool: unknown): string | undefined {
  if (!isObject(tool)) return 'it is no object'
  if (typeof tool.name !== 'string' || tool.name === '') return 'it has no name'
  return isObject(tool.inputSchema) ? undefined : 'it has no inputSchema'
}

function nameOf(tool: unknown): string {
  return isObject(tool) && typeof tool.name === 'string' ? tool.name : 'without a name'
}
