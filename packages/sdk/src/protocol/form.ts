import { formats } from '../schema/formats.ts'
import { has, show } from '../schema/values.ts'
import { define, isObject, type JsonObject, omit } from '../util/objects.ts'
import type { ElicitContent, ElicitSchema } from './elicitation.ts'

/** The formats of a string field (2025-11-25 elicitation, requested schema). */
export const FORM_FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time'])

/** Adds the default of every field that was not filled in. Defaults that are not valid for their field are ignored. */
export function fillDefaults(form: ElicitSchema, content: ElicitContent | undefined): ElicitContent {
  const filled: ElicitContent = omit(content ?? {}, [])
  for (const [name, field] of Object.entries<unknown>(form.properties)) {
    if (has(filled, name) || !isObject(field) || !has(field, 'default')) continue
    const value = field.default
    if (fieldProblem(field, value) === undefined) define(filled, name, Array.isArray(value) ? [...value] : value)
  }
  return filled
}

/**
 * Describes what is wrong with the content of a form; undefined if nothing is. The form may come from a malicious peer, so this
 * never throws and takes linear time.
 */
export function formProblem(form: ElicitSchema, content: unknown): string | undefined {
  if (!isObject(form) || !isObject(form.properties)) return 'the form cannot be understood'
  if (!isObject(content)) return 'content must be an object'
  const { required = [] } = form
  if (!isStrings(required)) return 'the form cannot be understood'
  const missing = required.find((name) => !has(content, name))
  if (missing !== undefined) return `field ${show(missing)} is missing`
  for (const [name, value] of Object.entries(content)) {
    if (value === undefined) continue
    const problem = has(form.properties, name) ? fieldProblem(form.properties[name], value) : valueProblem(value)
    if (problem !== undefined) return `field ${show(name)} ${problem}`
  }
  return undefined
}

/** Describes what is wrong with the value of a field, without the name of the field. */
export function fieldProblem(field: unknown, value: unknown): string | undefined {
  if (!isObject(field)) return NO_FIELD
  switch (field.type) {
    case 'string':
      return has(field, 'enum') || has(field, 'oneOf') ? choiceProblem(field, value) : textProblem(field, value)
    case 'number':
    case 'integer':
      return numberProblem(field, value)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'array':
      return choicesProblem(field, value)
    default:
      return NO_FIELD
  }
}

/**
 * Returns the name of a field that seems to ask for a secret, which forms must not do (2025-11-25 elicitation, security). It
 * looks at the words of names and titles. Checkboxes and choices cannot hold a secret.
 */
export function secretField(form: ElicitSchema): string | undefined {
  const found = Object.entries<unknown>(form.properties).find(
    ([name, field]) => isObject(field) && isTypedIn(field) && (isSecret(name) || isSecret(String(field.title ?? ''))),
  )
  return found?.[0]
}

const NO_FIELD = 'cannot be understood'

/** The same for a field that the form does not describe. */
export function valueProblem(value: unknown): string | undefined {
  const fine = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) || isStrings(value)
  return fine ? undefined : 'must be a string, a number, true, false or an array of strings'
}

function textProblem(field: JsonObject, value: unknown): string | undefined {
  const { minLength, maxLength, format } = field
  if (!isLimit(minLength) || !isLimit(maxLength)) return NO_FIELD
  if (typeof value !== 'string') return 'must be a string'
  const length = minLength === undefined && maxLength === undefined ? 0 : countCharacters(value)
  if (minLength !== undefined && length < minLength) return `must have ${minLength} or more characters`
  if (maxLength !== undefined && length > maxLength) return `must have ${maxLength} or fewer characters`
  // Other formats are annotations.
  const isSound = FORM_FORMATS.has(format) ? formats.get(format as string) : undefined
  return isSound?.(value) === false ? `must be a valid ${format}` : undefined
}

/** JSON Schema counts code points, not UTF-16 code units. */
function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function numberProblem({ type, minimum, maximum }: JsonObject, value: unknown): string | undefined {
  if (!isLimit(minimum) || !isLimit(maximum)) return NO_FIELD
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
  if (type === 'integer' && !Number.isInteger(value)) return 'must be a whole number'
  if (minimum !== undefined && value < minimum) return `must be ${minimum} or more`
  return maximum !== undefined && value > maximum ? `must be ${maximum} or less` : undefined
}

function choiceProblem(field: JsonObject, value: unknown): string | undefined {
  const values = valuesOf(field.enum, field.oneOf)
  if (!values) return NO_FIELD
  return values.includes(value) ? undefined : `must be one of ${show(values)}`
}

function choicesProblem({ items, minItems, maxItems }: JsonObject, value: unknown): string | undefined {
  const values = isObject(items) ? valuesOf(items.enum, items.anyOf) : undefined
  if (!values || !isLimit(minItems) || !isLimit(maxItems)) return NO_FIELD
  if (!isStrings(value)) return 'must be an array of strings'
  if (minItems !== undefined && value.length < minItems) return `must have ${minItems} or more choices`
  if (maxItems !== undefined && value.length > maxItems) return `must have ${maxItems} or fewer choices`
  const known = new Set(values)
  return value.every((item) => known.has(item)) ? undefined : `must have only choices of ${show(values)}`
}

/** The values of a choice, given as an enum or as options with titles. */
function valuesOf(values: unknown, options: unknown): unknown[] | undefined {
  if (values !== undefined) return isStrings(values) ? values : undefined
  if (!Array.isArray(options)) return undefined
  const found = options.map((option) => (isObject(option) ? option.const : undefined))
  return isStrings(found) ? found : undefined
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isLimit(value: unknown): value is number | undefined {
  return value === undefined || Number.isFinite(value)
}

function isTypedIn(field: JsonObject): boolean {
  if (field.type === 'number' || field.type === 'integer') return true
  return field.type === 'string' && !has(field, 'enum') && !has(field, 'oneOf')
}

/** Whether a name or title asks for a secret: `apiToken` and "Password (8 letters)" do, `tokenCount` does not. */
export function isSecret(text: string): boolean {
  return text.split(/[^\p{L}\p{N}\s_-]+/u).some((clause) => {
    const words = clause.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+/gu) ?? []
    return hasSecret(words.map((word) => word.toLowerCase()))
  })
}

function hasSecret(words: readonly string[]): boolean {
  return words.some((_, start) =>
    [1, 2, 3].some((length) => {
      const next = words[start + length]
      const ends = next === undefined || CONTINUES.has(next) || /^\p{N}/u.test(next)
      return ends && start + length <= words.length && SECRETS.has(words.slice(start, start + length).join(''))
    }),
  )
}

/** As one word. Separate words are joined before the lookup. */
const SECRETS = new Set(
  (
    'password passwords passwd pwd passphrase secret secrets clientsecret token apitoken accesstoken authtoken ' +
    'refreshtoken apikey apikeys accesskey secretkey privatekey privatekeys creditcard creditcardnumber cardnumber ' +
    'cvv cvc securitycode ssn socialsecuritynumber passcode otp seedphrase recoverycode recoverycodes sshkey ' +
    'encryptionkey credentials connectionstring jwt authcode creditcards'
  ).split(' '),
)

/** Words that may follow a secret. After other words the field asks for something else, such as its length or name. */
const CONTINUES = new Set(
  'for of to from on in at here please again repeat repeated confirm confirmation value text string pem number'.split(
    ' ',
  ),
)
