import type { Layout } from '../../client/terminal/layout.ts'
import type { CreateMessageParams, SamplingContent, SamplingMessage } from '../../protocol/sampling.ts'
import { isObject, omit } from '../../util/objects.ts'
import { approvalLine } from '../../util/safe-text.ts'
import type {
  ApprovalRequest,
  ConnectAction,
  DataFlow,
  DefinitionsAction,
  HostAction,
  ResultAction,
  SamplingAction,
  SamplingResultAction,
} from '../action.ts'
import type { DefinitionChange } from '../definition-diff.ts'
import type { Finding } from '../findings/finding.ts'
import { redactResult } from '../findings/redact-result.ts'
import { labeled, quoteAll, toPrettyJson } from './foreign-text.ts'

/** Everything that the user has to see before answering, as lines for the terminal. */
export function viewRequest({ action, reason, findings }: ApprovalRequest, layout: Layout): string[] {
  const { server } = action
  return [
    '',
    heading(titleOf(action), layout),
    ...labeled('Server', `${server.id} (${server.trust})`, layout),
    // For `connect` the address is shown below, as what is to be approved.
    ...(action.kind === 'connect' ? [] : labeled('Address', server.address, layout)),
    ...labeled('Why', reason, layout),
    ...viewAction(action, layout),
    // Last, because long arguments push everything else off the screen.
    ...findings.flatMap((finding) => viewFinding(finding, layout)),
    '',
  ]
}

/** Names what is about to happen in a few words, for the line above the choices. */
export function summaryOf(action: HostAction): string {
  const id = shortName(action.server.id)
  switch (action.kind) {
    case 'connect':
      return `Connect to ${id}?`
    case 'definitions':
      return `Use these definitions of ${id}?`
    case 'tool':
      return `Call ${shortName(action.tool.name)} on ${id}?`
    case 'resource':
      return `Read this resource of ${id}?`
    case 'prompt':
      return `Get ${shortName(action.prompt)} from ${id}?`
    case 'roots':
      return `Show these folders to ${id}?`
    case 'sampling':
      return `Let ${id} use the model?`
    case 'sampling-result':
      return `Send this message of the model to ${id}?`
    case 'elicitation':
      return `Let ${id} ask you?`
    case 'result':
      return `Use this result of ${id}?`
  }
}

function titleOf(action: HostAction): string {
  switch (action.kind) {
    case 'connect':
      return titleOfConnect(action)
    case 'definitions':
      return action.isFirstUse ? 'Use the definitions of a new server' : 'The definitions of a server changed'
    case 'tool':
      return 'Call a tool'
    case 'resource':
      return 'Read a resource'
    case 'prompt':
      return 'Get a prompt'
    case 'roots':
      return 'Show folders to a server'
    case 'sampling':
      return 'A server wants to use the model'
    case 'sampling-result':
      return 'Send a message of the model to a server'
    case 'elicitation':
      return 'A server wants to ask you'
    case 'result':
      return 'A result looks suspicious'
  }
}

function viewAction(action: HostAction, layout: Layout): string[] {
  switch (action.kind) {
    case 'connect':
      return viewConnect(action, layout)
    case 'definitions':
      return viewDefinitions(action, layout)
    case 'tool':
      return [
        ...labeled('Tool', action.tool.name, layout),
        ...labeled('Known as', action.name, layout),
        ...block('Arguments', toPrettyJson(action.arguments), layout),
        ...action.flows.flatMap((flow) => viewFlow(flow, action.server.id, layout)),
      ]
    case 'resource':
      return block('Resource', action.uri, layout)
    case 'prompt':
      return [
        ...labeled('Prompt', action.prompt, layout),
        ...block('Arguments', toPrettyJson(action.arguments), layout),
      ]
    case 'roots':
      return block('Folders', action.roots.map(({ uri, name }) => (name ? `${uri} (${name})` : uri)).join('\n'), layout)
    case 'sampling':
      return viewSampling(action, layout)
    case 'sampling-result':
      return viewSamplingResult(action, layout)
    case 'elicitation':
      return [
        ...block('Message', action.request.message, layout),
        ...block('Request', toPrettyJson(omit(action.request, ['message', '_meta'])), layout),
      ]
    case 'result':
      return viewResult(action, layout)
  }
}

/** The same command is asked about again if values of its variables changed, or if no person approved it. */
function titleOfConnect({ before, target }: ConnectAction): string {
  if (before === undefined) return 'Connect to a new server'
  return before === target ? 'A known command needs approval again' : 'The command or URL of a server changed'
}

/** The complete command line. The environment is shown by names only, because values may be secrets. */
function viewConnect({ target, env, before }: ConnectAction, layout: Layout): string[] {
  const isUrl = /^https?:\/\//i.test(target)
  const isChanged = before !== undefined && before !== target
  return [
    ...(isChanged ? block('Approved before', before, layout) : []),
    ...block(isChanged ? 'Now' : isUrl ? 'URL' : 'Command line', target, layout),
    ...(env.length > 0 ? labeled('Variables', env.join(', '), layout) : []),
    ...(isUrl ? [] : [layout.paint.warning('! This runs a program, which can do everything that you can do.')]),
  ]
}

const changeSigns = { added: '+', removed: '-', changed: '~' } as const

function viewDefinitions({ changes }: DefinitionsAction, layout: Layout): string[] {
  return ['Definitions', ...changes.flatMap((change) => viewChange(change, layout))]
}

function viewChange({ kind, what, details }: DefinitionChange, layout: Layout): string[] {
  return [
    ...labeled(`${changeSigns[kind]} ${kind}`, what, layout),
    ...details.flatMap((detail) => quoteAll(detail, layout)),
  ]
}

function viewFlow({ from, path, excerpt }: DataFlow, to: string, layout: Layout): string[] {
  return [
    layout.paint.warning('! Data of another server'),
    ...labeled('From', from, layout),
    ...labeled('To', `${to}, in ${path}`, layout),
    ...quoteAll(excerpt, layout),
  ]
}

function viewSampling({ request, contextFrom = [] }: SamplingAction, layout: Layout): string[] {
  const { systemPrompt } = request
  const settings = omit<CreateMessageParams>(request, ['messages', 'systemPrompt', '_meta', 'task'])
  return [
    ...(contextFrom.length === 0 ? [] : labeled('Context of', contextFrom.join(', '), layout)),
    ...(systemPrompt === undefined ? [] : block('System prompt', systemPrompt, layout)),
    ...request.messages.flatMap((message) => viewMessage(message, layout)),
    ...block('Settings', toPrettyJson(settings), layout),
  ]
}

function viewSamplingResult({ result }: SamplingResultAction, layout: Layout): string[] {
  return [
    ...labeled('Model', result.model, layout),
    ...labeled('Stopped', result.stopReason ?? 'no reason given', layout),
    ...viewMessage(result, layout),
  ]
}

const maxResultChars = 4_000

/** The beginning is enough to know what it is about, and secrets are not shown. The findings follow. */
function viewResult({ of, name, result }: ResultAction, layout: Layout): string[] {
  const text = toPrettyJson(redactResult({ result }).result)
  const more = text.length > maxResultChars ? `\n(and ${text.length - maxResultChars} more characters)` : ''
  return [...labeled(`Result of ${of}`, name, layout), ...block('Result', text.slice(0, maxResultChars) + more, layout)]
}

function viewMessage({ role, content }: Pick<SamplingMessage, 'role' | 'content'>, layout: Layout): string[] {
  const blocks = Array.isArray(content) ? content : [content]
  return block(
    role === 'user' ? 'Message of the user' : 'Message of the model',
    blocks.map(contentText).join('\n'),
    layout,
  )
}

function contentText(content: SamplingContent): string {
  if (isObject(content) && content.type === 'text' && typeof content.text === 'string') return content.text
  return toPrettyJson(withoutBinary(content))
}

/** An image as text says nothing to the user, so its type and size are shown. */
function withoutBinary(content: unknown): unknown {
  if (!isObject(content) || typeof content.data !== 'string') return content
  return { ...content, data: `(${content.data.length} characters of Base64)` }
}

function viewFinding({ severity, where, message, excerpt }: Finding, layout: Layout): string[] {
  return [
    layout.paint.warning(severity === 'high' ? '! Suspicious' : '! Note'),
    ...labeled('Where', where, layout),
    ...labeled('What', message, layout),
    ...quoteAll(`»${excerpt}«`, layout, layout.paint.warning),
  ]
}

function block(label: string, text: string, layout: Layout): string[] {
  return [layout.paint.faint(label), ...quoteAll(text, layout)]
}

function heading(title: string, { width, paint }: Layout): string {
  return paint.strong(`── ${title} `.padEnd(width, '─'))
}

/** Short enough for one line together with other words. The complete text is shown above. */
function shortName(name: string): string {
  const line = approvalLine(name)
  return line.length > 24 ? `${line.slice(0, 23).replace(/[\ud800-\udbff]$/, '')}…` : line
}
