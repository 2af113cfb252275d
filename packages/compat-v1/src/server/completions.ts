import type { CompleteRequest, CompleteResult, PromptReference } from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import type { AnySchema } from '../shared/zod-reading.ts'
import { getCompleter, isCompletable } from './completable.ts'
import { findPrompt } from './prompt-gets.ts'
import {
  find,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type Registry,
} from './registered.ts'
import { fieldsOf } from './tool-schemas.ts'

/** The most values that one response may have. */
const maxValues = 100

/** What can be completed. */
interface Completed {
  readonly prompts: Registry<RegisteredPrompt>
  readonly resources: Registry<RegisteredResource>
  readonly templates: Registry<RegisteredResourceTemplate>
}

type Completer = (value: string, context?: CompleteRequest['params']['context']) => unknown

/** Completes an argument of a prompt, or a variable of a resource template. */
export async function complete(completed: Completed, { params }: CompleteRequest): Promise<CompleteResult> {
  const { ref, argument, context } = params
  const completer =
    ref.type === 'ref/prompt'
      ? completerOfPrompt(completed.prompts, ref, argument.name)
      : completerOfTemplate(completed, ref.uri, argument.name)
  if (!completer) return { completion: { values: [], hasMore: false } }
  const suggestions = (await completer(argument.value, context)) as string[]
  return {
    completion: {
      values: suggestions.slice(0, maxValues),
      total: suggestions.length,
      hasMore: suggestions.length > maxValues,
    },
  }
}

function completerOfPrompt(
  prompts: Registry<RegisteredPrompt>,
  { name }: PromptReference,
  argument: string,
): Completer | undefined {
  const { argsSchema } = findPrompt(prompts, name)
  const field = argsSchema && fieldsOf(argsSchema)?.[argument]
  const completable = [field, innerOf(field)].find(isCompletable)
  return completable && (getCompleter(completable) as Completer | undefined)
}

function completerOfTemplate(completed: Completed, uri: string, variable: string): Completer | undefined {
  const { resources, templates } = completed
  const template = Object.values(templates).find((each) => each.resourceTemplate.uriTemplate.toString() === uri)
  if (template) return template.resourceTemplate.completeCallback(variable)
  // The URI of a resource has no variables, but asking for them is not an error.
  if (find(resources, uri)) return undefined
  throw new McpError(ErrorCode.InvalidParams, `Resource template ${uri} not found`)
}

/** Whether a field has completion, or the schema inside an optional one. */
export function hasCompletion(field: AnySchema): boolean {
  return isCompletable(field) || isCompletable(innerOf(field))
}

function innerOf(field: unknown): unknown {
  const { _zod, _def } = (field ?? {}) as {
    _zod?: { def?: { type?: string; innerType?: unknown } }
    _def?: { typeName?: string; innerType?: unknown }
  }
  if (_zod?.def?.type === 'optional') return _zod.def.innerType
  return _def?.typeName === 'ZodOptional' ? _def.innerType : undefined
}
