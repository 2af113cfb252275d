import type { ElicitContent, ElicitSchema } from '../../protocol/elicitation.ts'
import { fieldProblem, secretField } from '../../protocol/form.ts'
import { isObject } from '../../util/objects.ts'
import { choiceOfMany, choiceOfOne } from './choice.ts'
import { number, text, yesOrNo } from './field-types.ts'
import { safeLine, safeText } from './safe-text.ts'

export type Answer = ElicitContent[string]

/** One field of a form, ready to be shown: every text is safe. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** It asks for what no form may ask for. */
  readonly looksSecret: boolean
  /** The default, unless the field's own rules refuse it. */
  readonly fallback: Answer | undefined
  readonly kind: FieldType
  parse(line: string): Parsed
}

/** How one sort of field is explained, read and shown. */
export interface FieldType {
  /** What an answer must be, in words. Empty when anything goes. */
  readonly rule: string
  readonly options?: readonly Option[]
  /** What Enter alone means where an answer is needed and there is no default. */
  readonly blank?: Answer
  /** Makes a value of a line, or says why it cannot. Limits are checked afterwards. */
  parse(line: string): Parsed
  show(answer: Answer): string
  /** What stands before the cursor, if not the answer that Enter would give. */
  hint?(current: Answer | undefined): string
}

export interface Option {
  readonly value: string
  readonly title: string
}

export type Parsed = { readonly answer: Answer } | { readonly problem: string }

/** Reads one property of a form. Whatever the server sent, the result can be shown. */
export function toField(name: string, property: unknown, isRequired: boolean): Field {
  const schema = isObject(property) ? property : {}
  const kind = kindOf(schema)
  const hasDefault = schema.default !== undefined && fieldProblem(schema, schema.default) === undefined
  return {
    name,
    label: safeLine(stringOf(schema.title), 100) || safeLine(name, 100) || 'A field without a name',
    description: safeText(stringOf(schema.description), 1_000),
    isRequired,
    looksSecret: secretField({ type: 'object', properties: { [name]: schema } } as unknown as ElicitSchema) === name,
    fallback: hasDefault ? (schema.default as Answer) : undefined,
    kind,
    parse: (line) => checked(schema, kind.parse(line)),
  }
}

function kindOf(schema: { readonly [keyword: string]: unknown }): FieldType {
  if (schema.type === 'boolean') return yesOrNo
  if (schema.type === 'number' || schema.type === 'integer') return number(schema)
  if (schema.type === 'array') return choiceOfMany(schema)
  return schema.enum !== undefined || schema.oneOf !== undefined ? choiceOfOne(schema) : text(schema)
}

function checked(schema: object, parsed: Parsed): Parsed {
  const problem = 'answer' in parsed ? fieldProblem(schema, parsed.answer) : undefined
  return problem === undefined ? parsed : { problem: `It ${safeLine(problem)}.` }
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
