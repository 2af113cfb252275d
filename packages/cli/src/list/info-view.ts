import type { Prompt, Resource, ResourceTemplateInfo, Tool } from 'tenon'
import { safeJson, safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { type Output, quote, twoColumns } from '../output.ts'
import { viewServer } from './offer-view.ts'
import type { Info } from './read-info.ts'
import { annotationsOf, argumentsOf } from './schema-view.ts'

/** Shows a server, or the item that was asked for. */
export function viewInfo(info: Info, output: Output): string[] {
  if (info.tool) return viewTool(info.tool, output)
  if (info.prompt) return viewPrompt(info.prompt, output)
  const item = info.resource ?? info.resourceTemplate
  return item ? viewResource(item, output) : viewAll(info, output)
}

const maxDescription = 20_000

function viewAll(info: Info, output: Output): string[] {
  const { server, capabilities, instructions, counts } = info
  const { paint, width } = output
  const { tools, prompts, resources, resourceTemplates } = counts
  const facts = [
    ['Title', server?.title],
    ['Website', server?.websiteUrl],
    [
      'Offers',
      [
        count(tools, 'tool'),
        count(prompts, 'prompt'),
        count(resources, 'resource'),
        count(resourceTemplates, 'resource template'),
      ].join(', '),
    ],
    ['Capabilities', describeCapabilities(capabilities)],
  ].flatMap(([name = '', text]) => (text ? [[name, safeLine(text, 1_000)] as const] : []))
  return [
    viewServer(info, output),
    ...labelled(facts, output),
    ...(instructions
      ? ['', paint.strong('Instructions'), ...quote(instructions, width, paint, maxDescription)]
      : ['', paint.faint('No instructions.')]),
  ]
}

/** Names with their options: `tools (listChanged)`. */
function describeCapabilities(capabilities: object): string {
  const names = Object.entries(capabilities).map(([name, value]) => {
    const options = typeof value === 'object' && value !== null ? Object.keys(value) : []
    return options.length === 0 ? name : `${name} (${options.join(', ')})`
  })
  return names.length === 0 ? 'none' : names.join(', ')
}

function labelled(facts: readonly (readonly [string, string])[], { width, paint }: Output): string[] {
  const left = Math.max(...facts.map(([name]) => name.length)) + 2
  return facts.flatMap(([name, text]) =>
    wrap(text, width - left).map((line, index) => paint.faint((index === 0 ? name : '').padEnd(left)) + line),
  )
}

function viewTool(tool: Tool, output: Output): string[] {
  const { paint, width } = output
  const { name, title, description, outputSchema } = tool
  const rows = argumentsOf(tool).map(({ name: key, type, isRequired, description: text }) => {
    return [safeLine(key), `${safeLine(type)}${isRequired ? ', required' : ''}  ${text}`.trimEnd()] as const
  })
  const annotations = annotationsOf(tool)
  const support = tool.execution?.taskSupport
  return [
    ...wrap(safeLine(name, 2_000), width).map((line) => paint.strong(line)),
    ...(title ? wrap(safeLine(title), width) : []),
    ...(description ? quote(description, width, paint, maxDescription) : []),
    ...(annotations.length > 0 ? ['', `It says that it is: ${annotations.join(', ')}`] : []),
    ...(support && support !== 'forbidden' ? [`Tasks: ${safeLine(support)}`] : []),
    '',
    ...(rows.length > 0 ? [paint.strong('Arguments'), ...twoColumns(rows, output)] : ['No arguments.']),
    ...schemaLines('Input schema', tool.inputSchema, output),
    ...(outputSchema ? schemaLines('Output schema', outputSchema, output) : []),
  ]
}

function viewPrompt({ name, description, arguments: args = [] }: Prompt, output: Output): string[] {
  const { paint, width } = output
  const rows = args.map(({ name: key, required, description: text = '' }) => {
    return [safeLine(key), `${required ? 'required  ' : ''}${safeLine(text)}`] as const
  })
  return [
    ...wrap(safeLine(name, 2_000), width).map((line) => paint.strong(line)),
    ...(description ? quote(description, width, paint, maxDescription) : []),
    '',
    ...(rows.length > 0 ? [paint.strong('Arguments'), ...twoColumns(rows, output)] : ['No arguments.']),
  ]
}

function viewResource(item: Resource | ResourceTemplateInfo, output: Output): string[] {
  const { paint, width } = output
  const address = 'uri' in item ? item.uri : item.uriTemplate
  const facts = [
    ['Name', item.name],
    ['Type', item.mimeType],
    ['Size', 'size' in item && item.size !== undefined ? `${item.size} bytes` : undefined],
  ].flatMap(([name = '', text]) => (text ? [[name, safeLine(text)] as const] : []))
  return [
    ...wrap(safeLine(address, 2_000), width).map((line) => paint.strong(line)),
    ...(item.description ? quote(item.description, width, paint, maxDescription) : []),
    ...labelled(facts, output),
  ]
}

function schemaLines(title: string, schema: unknown, { paint, width }: Output): string[] {
  return ['', paint.strong(title), ...wrap(safeJson(schema), width - 2).map((line) => paint.faint(`  ${line}`))]
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
