/** A JSON Schema document in object form. */
export interface JsonSchema {
  $schema?: string
  [keyword: string]: unknown
}

/** A JSON Schema whose root describes an object. */
export interface JsonObjectSchema extends JsonSchema {
  type: 'object'
  properties?: { [name: string]: unknown }
  required?: string[]
}
