import type { ElicitContent, ElicitSchema } from '../../protocol/elicitation.ts'
import { fieldProblem, secretField } from '../../protocol/form.ts'
import { isObject } from '../../util/objects.ts'
import { safeLine } from '../../util/safe-text.ts'
import { multiSelect, singleSelect } from './choice.ts'
import { number, text, yesOrNo } from './field-types.ts'
import { promptText } from './prompt-text.ts'

export type Answer = ElicitContent[string]

/** One field of a form. All texts are safe to print. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** Whether it seems to ask for a secret, which forms must not. */
  readonly looksSecret: boolean
  /** The default, if it is valid. */
  readonly fallback: Answer | undefined
  readonly type: FieldType
  parse(line: string): Parsed
}

/** How a type of field is described, parsed and shown. */
export interface FieldType {
  /** Describes valid answers. Empty if every answer is valid. */
  readonly rule: string
  readonly options?: readonly Option[]
  /** The answer for Enter without text, if an answer is required and there is no default. */
  readonly blank?: Answer
  /** Parses a line, or says what is wrong with it. Limits are checked afterwards. */
  parse(line: string): Parsed
  show(answer: Answer): string
  /** The text before the cursor. Default: the answer that Enter would give. */
  hint?(current: Answer | undefined): string
}

export interface Option {
  readonly value: string
  readonly title: string
}

export type Parsed = { readonly answer: Answer } | { readonly problem: string }

/** Reads one property of a form. The result is safe to show, whatever the server sent. */
export function toField(name: string, property: unknown, isRequired: boolean): Field {
  const schema = isObject(property) ? property : {}
  const type = fieldTypeOf(schema)
  const hasDefault = schema.default !== undefined && fieldProblem(schema, schema.default) === undefined
  return {
    name,
    label: safeLine(stringOf(schema.title), 100) || safeLine(name, 100) || 'Unnamed field',
    description: promptText(stringOf(schema.description), 1_000),
    isRequired,
    looksSecret: secretField({ type: 'object', properties: { [name]: schema } } as unknown as ElicitSchema) === name,
    fallback: hasDefault ? (schema.default as Answer) : undefined,
    type,
    parse: (line) => checked(schema, type.parse(line)),
  }
}

function fieldTypeOf(schema: { readonly [keyword: string]: unknown }): FieldType {
  if (schema.type === 'boolean') return yesOrNo
  if (schema.type === 'number' || schema.type === 'integer') return number(schema)
  if (schema.type === 'array') return multiSelect(schema)
  return schema.enum !== undefined || schema.oneOf !== undefined ? singleSelect(schema) : text(schema)
}

function checked(schema: object, parsed: Parsed): Parsed {
  const problem = 'answer' in parsed ? fieldProblem(schema, parsed.answer) : undefined
  return problem === undefined ? parsed : { problem: `It ${safeLine(problem)}.` }
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
