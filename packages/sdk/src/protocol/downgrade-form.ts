import { define, type JsonObject, omit } from '../util/objects.ts'
import type { ElicitContent, ElicitSchema, EnumOption, PrimitiveSchemaDefinition } from './elicitation.ts'

/**
 * Converts a form to 2025-06-18: titles of choices in a separate array, defaults for booleans only, and a checkbox for each
 * option instead of a multiple choice.
 */
export function downgradeForm(form: ElicitSchema): ElicitSchema {
  const properties: JsonObject = {}
  for (const [name, field] of Object.entries(form.properties)) {
    if (field.type === 'array') for (const box of checkboxesOf(name, field)) define(properties, box.name, box.field)
    else define(properties, name, downgradeField(field))
  }
  const required = form.required?.filter((name) => form.properties[name]?.type !== 'array') ?? []
  return {
    type: 'object',
    properties: properties as ElicitSchema['properties'],
    ...(required.length > 0 && { required }),
  }
}

/** Converts the checkboxes of a downgraded form back to multiple choices. */
export function joinCheckboxes(form: ElicitSchema, content: ElicitContent): ElicitContent {
  const chosen: JsonObject = {}
  const checkboxNames = new Set<string>()
  for (const [name, field] of Object.entries(form.properties)) {
    if (field.type !== 'array' || Object.hasOwn(content, name)) continue
    const boxes = checkboxesOf(name, field)
    const isAnswered = boxes.some((box) => Object.hasOwn(content, box.name))
    if (!isAnswered && !form.required?.includes(name)) continue
    for (const box of boxes) checkboxNames.add(box.name)
    const values = boxes.filter((box) => Object.hasOwn(content, box.name) && content[box.name] === true)
    define(
      chosen,
      name,
      values.map((box) => box.value),
    )
  }
  if (Object.keys(chosen).length === 0) return content
  const rest = Object.entries(content).filter(([name]) => !checkboxNames.has(name))
  return { ...(Object.fromEntries(rest) as ElicitContent), ...(chosen as ElicitContent) }
}

type Choices = Extract<PrimitiveSchemaDefinition, { type: 'array' }>

function checkboxesOf(
  name: string,
  field: Choices,
): { name: string; value: string; field: PrimitiveSchemaDefinition }[] {
  const { items, title = name, description, default: chosen } = field
  const options: EnumOption[] =
    'anyOf' in items ? items.anyOf : items.enum.map((value) => ({ const: value, title: value }))
  return options.map((option) => ({
    name: `${name}: ${option.const}`,
    value: option.const,
    field: {
      type: 'boolean',
      title: `${title}: ${option.title}`,
      ...(description !== undefined && { description }),
      ...(chosen && { default: chosen.includes(option.const) }),
    },
  }))
}

function downgradeField(field: Exclude<PrimitiveSchemaDefinition, Choices>): PrimitiveSchemaDefinition {
  if (field.type === 'boolean') return field
  if (!('oneOf' in field)) return omit(field, ['default'])
  return {
    ...omit<JsonObject>({ ...field }, ['default', 'oneOf']),
    type: 'string',
    enum: field.oneOf.map((option) => option.const),
    enumNames: field.oneOf.map((option) => option.title),
  }
}
