import type { SchemaIssue } from 'tenon/server'
import { compile } from './compile.ts'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from './types.ts'

/** The dialects of JSON Schema that programs name. */
export type CfWorkerSchemaDraft = '4' | '7' | '2019-09' | '2020-12'

/**
 * Checks values with Tenon's own engine, which runs wherever `@cfworker/json-schema` does: it compiles schemas without
 * generating code.
 */
export class CfWorkerJsonSchemaValidator implements jsonSchemaValidator {
  private readonly _tenonShortcircuit: boolean
  private readonly _tenonDraft: CfWorkerSchemaDraft

  /**
   * @param options.shortcircuit Reports the first issue only. Default: true.
   * @param options.draft The dialect of schemas that name none. Drafts 4 and 2019-09 count as draft-07 and 2020-12.
   *   Default: 2020-12.
   */
  constructor(options?: { shortcircuit?: boolean | undefined; draft?: CfWorkerSchemaDraft | undefined }) {
    this._tenonShortcircuit = options?.shortcircuit ?? true
    this._tenonDraft = options?.draft ?? '2020-12'
  }

  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const isOlder = this._tenonDraft === '4' || this._tenonDraft === '7'
    const dialect = isOlder ? { $schema: 'http://json-schema.org/draft-07/schema#' } : undefined
    return compile({ ...dialect, ...schema }, (issues) =>
      describe(this._tenonShortcircuit ? issues.slice(0, 1) : issues),
    )
  }
}

/** The issues in the form of `@cfworker/json-schema`: `#/age: must be an integer, got string`. */
function describe(issues: SchemaIssue[]): string {
  return issues.map(({ path, message }) => `#${path}: ${message}`).join('; ')
}
