import type { Tool } from 'tenon'
import { getDisplayName } from 'tenon/client'
import { safeLine } from 'tenon/internal'
import { fit, wrap } from '../columns.ts'
import { type Output, quote, twoColumns } from '../output.ts'
import type { Offer, ServerName } from './read-offer.ts'
import { annotationsOf, usageOf } from './schema-view.ts'

/**
 * Shows what a server offers.
 * @param withUsage Adds the arguments and annotations of each tool.
 */
export function viewOffer(offer: Offer, output: Output, { withUsage }: { readonly withUsage: boolean }): string[] {
  const { instructions, tools, prompts, resourceTemplates, resources } = offer
  const { paint, width } = output
  return [
    viewServer(offer, output),
    ...(instructions && !withUsage ? quote(instructions, width, paint, 300) : []),
    ...(withUsage ? toolSection(tools, output) : section('Tools', tools?.map(describeTool), output)),
    ...section(
      'Prompts',
      prompts?.map(({ name, description, title }) => [name, description ?? title]),
      output,
    ),
    ...section(
      'Resource templates',
      resourceTemplates?.map(({ uriTemplate, description, name }) => [uriTemplate, description ?? name]),
      output,
    ),
    ...section(
      'Resources',
      resources?.map(({ uri, description, name }) => [uri, description ?? name]),
      output,
    ),
  ]
}

/** The first line: name, version and revision. */
export function viewServer(
  { server, revision }: { readonly server: ServerName | null; readonly revision: string },
  { paint, width }: Output,
): string {
  const name = server ? fit(safeLine(`${server.name} ${server.version}`), width - 22) : 'A server without a name'
  return `${paint.strong(name)}  ${paint.faint(`revision ${revision}`)}`
}

type Row = readonly [name: string, text: string | undefined]

function describeTool(tool: Tool): Row {
  const title = getDisplayName(tool)
  return [tool.name, tool.description ?? (title === tool.name ? undefined : title)]
}

/** Each tool with its arguments, as they are written for `tenon call`. */
function toolSection(tools: readonly Tool[] | undefined, output: Output): string[] {
  const { paint, width } = output
  if (!tools || tools.length === 0) return []
  const heading = ['', `${paint.strong('Tools')} ${paint.faint(`(${tools.length})`)}`]
  return [
    ...heading,
    ...tools.flatMap((tool) => {
      const [name, text = ''] = describeTool(tool)
      const notes = annotationsOf(tool).join(', ')
      const usage = safeLine(usageOf(tool), 2_000)
      return [
        ...wrap(safeLine(name, 2_000), width - 2).map((line) => `  ${line}`),
        ...(text === '' ? [] : [`    ${fit(safeLine(text), width - 4)}`]),
        ...[usage, notes]
          .filter((line) => line !== '')
          .flatMap((line) => wrap(line, width - 4).map((part) => paint.faint(`    ${part}`))),
      ]
    }),
  ]
}

function section(title: string, items: readonly Row[] | undefined, output: Output): string[] {
  if (!items || items.length === 0) return []
  const rows = items.map(([name, text = '']) => [safeLine(name, 2_000), safeLine(text)] as const)
  return ['', `${output.paint.strong(title)} ${output.paint.faint(`(${items.length})`)}`, ...twoColumns(rows, output)]
}
