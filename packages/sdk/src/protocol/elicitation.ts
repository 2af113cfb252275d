import type { NotificationParams, RequestParams, Result } from './base.ts'
import type { TaskAugmentation } from './task-augmentation.ts'

/** Params of `elicitation/create`. Since 2025-06-18. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams

/** Params of `elicitation/create` in form mode. Since 2025-06-18. */
export interface ElicitFormParams extends RequestParams, TaskAugmentation {
  /** Since 2025-11-25; `form` when absent. */
  mode?: 'form'
  message: string
  requestedSchema: ElicitSchema
}

/** Params of `elicitation/create` in URL mode: the user opens a URL. Since 2025-11-25. */
export interface ElicitUrlParams extends RequestParams, TaskAugmentation {
  mode: 'url'
  message: string
  url: string
  /** 2025-11-25 only, and required there. */
  elicitationId?: string
}

/** Result of `elicitation/create`. Since 2025-06-18. */
export interface ElicitResult extends Result {
  action: 'accept' | 'decline' | 'cancel'
  /** Present when the user submitted a form. */
  content?: ElicitContent
}

/** The values of a submitted form. Lists since 2025-11-25. */
export interface ElicitContent {
  [field: string]: string | number | boolean | string[]
}

/** The schema of a form: a flat object with primitive fields. Since 2025-06-18. */
export interface ElicitSchema {
  /** Since 2025-11-25. */
  $schema?: string
  type: 'object'
  properties: { [field: string]: PrimitiveSchemaDefinition }
  required?: string[]
}

/** One field of a form. */
export type PrimitiveSchemaDefinition = StringSchema | NumberSchema | BooleanSchema | EnumSchema

/** A text field. */
export interface StringSchema {
  type: 'string'
  title?: string
  description?: string
  minLength?: number
  maxLength?: number
  format?: 'email' | 'uri' | 'date' | 'date-time'
  /** Since 2025-11-25. */
  default?: string
}

/** A number field. */
export interface NumberSchema {
  type: 'number' | 'integer'
  title?: string
  description?: string
  minimum?: number
  maximum?: number
  /** Since 2025-11-25. */
  default?: number
}

/** A boolean field. */
export interface BooleanSchema {
  type: 'boolean'
  title?: string
  description?: string
  default?: boolean
}

/** A field with a fixed set of values. */
export type EnumSchema = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema

/** A single-select field. */
export type SingleSelectEnumSchema = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema

/** A multi-select field. Since 2025-11-25. */
export type MultiSelectEnumSchema = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema

/** A single-select field whose values have no titles. */
export interface UntitledSingleSelectEnumSchema {
  type: 'string'
  title?: string
  description?: string
  enum: string[]
  /** Since 2025-11-25. */
  default?: string
}

/** A single-select field whose values have titles. Since 2025-11-25. */
export interface TitledSingleSelectEnumSchema {
  type: 'string'
  title?: string
  description?: string
  oneOf: EnumOption[]
  default?: string
}

/** A multi-select field whose values have no titles. Since 2025-11-25. */
export interface UntitledMultiSelectEnumSchema {
  type: 'array'
  title?: string
  description?: string
  minItems?: number
  maxItems?: number
  items: { type: 'string'; enum: string[] }
  default?: string[]
}

/** A multi-select field whose values have titles. Since 2025-11-25. */
export interface TitledMultiSelectEnumSchema {
  type: 'array'
  title?: string
  description?: string
  minItems?: number
  maxItems?: number
  items: { anyOf: EnumOption[] }
  default?: string[]
}

/** A single-select field with titles in `enumNames`, as in 2025-06-18. Later revisions still accept it. */
export interface LegacyTitledEnumSchema {
  type: 'string'
  title?: string
  description?: string
  enum: string[]
  enumNames?: string[]
  /** Since 2025-11-25. */
  default?: string
}

/** A value and its title. Since 2025-11-25. */
export interface EnumOption {
  const: string
  title: string
}

/** Params of `notifications/elicitation/complete`. 2025-11-25 only. */
export interface ElicitationCompleteParams extends NotificationParams {
  elicitationId: string
}
