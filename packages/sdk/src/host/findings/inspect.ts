import type { ElicitParams } from '../../protocol/elicitation.ts'
import type { CreateMessageParams } from '../../protocol/sampling.ts'
import { isObject } from '../../util/objects.ts'
import type { Definitions } from '../definitions.ts'
import { checkAddresses } from './addresses.ts'
import { CallArguments } from './call-arguments.ts'
import { checkCallMarkup } from './call-markup.ts'
import type { Finding } from './finding.ts'
import { checkHiddenText } from './hidden-text.ts'
import { checkIdentity } from './identity.ts'
import { checkInstructions, uniqueFindings } from './instructions.ts'
import { checkName, checkWords } from './look-alikes.ts'
import { checkProperties } from './properties.ts'
import { checkForm } from './questions.ts'
import { checkScopes } from './scopes.ts'
import { checkSecrets, SecretMembers } from './secrets.ts'
import { checkShadowing, type OtherServer } from './shadowing.ts'
import { checkSplitBlocks, type TextBlock } from './split-blocks.ts'
import { checkSplitTexts } from './split-texts.ts'
import { describePlace, forEachText, JoinedTexts, joinTexts, type Place } from './texts.ts'
import { checkToolOrders, ToolNames } from './tool-orders.ts'
import { toExcerpt } from './visible.ts'

/**
 * Inspects the definitions of a server for text that deceives a user or a model.
 *
 * @param server The id of the server.
 * @param others The other servers of the host, for names that resemble theirs.
 * @param scopes The OAuth scopes that the server asks for, if any.
 * @example
 * const findings = inspectDefinitions('files', definitions, [{ id: 'mail', definitions: mailDefinitions }])
 */
export function inspectDefinitions(
  server: string,
  definitions: Definitions,
  others: readonly OtherServer[],
  scopes: readonly string[] = [],
): Finding[] {
  const roots = rootsOf(definitions)
  const unread: Place[] = []
  const join = (isWanted: (text: string, place: Place) => boolean) =>
    joinTexts((visit) => {
      const visitWanted = (text: string, place: Place) => isWanted(text, place) && visit(text, place)
      unread.length = 0
      for (const [root, value] of roots) forEachText(value, { key: root }, visitWanted, (place) => unread.push(place))
    }, maxChars)
  const texts = join((text, place) => !isKeyword(text, place))
  // An order can be split over several descriptions, which other members separate in `texts`.
  const descriptions = join((_, { key, parent }) => key === 'description' && parent?.parent === undefined)
  return [
    ...checkHiddenText(texts, 'definitions'),
    ...checkNames(definitions),
    ...checkWords(texts.text, (start, end) => texts.whereIs(start, end)),
    ...uniqueFindings([...checkInstructions(texts, 'definitions'), ...checkInstructions(descriptions, 'definitions')]),
    ...checkSplitTexts(definitions),
    ...checkShadowing(server, definitions, texts, others),
    ...checkProperties(definitions),
    ...checkIdentity(definitions),
    ...checkScopes(scopes, definitions),
    ...checkSecrets(texts),
    ...checkSize(texts, unread),
  ]
}

/** Values such as `string` in a schema, which would separate the descriptions around them. */
function isKeyword(text: string, { key }: Place): boolean {
  return (key === 'type' || key === 'format' || key === '$schema') && text.length < 64 && !text.includes(' ')
}

/**
 * Inspects a result of a tool, a resource or a prompt before a model sees it.
 *
 * @param tools Names of the tools that the model can call. A result that orders a call of one of them is suspicious.
 */
export function inspectResult(result: unknown, tools: readonly string[] = []): Finding[] {
  return inspectServerResult(result, tools.length > 0 ? new ToolNames(tools.map((name) => ({ name }))) : undefined)
}

/** Inspects a result of a server, which may name its own tools. */
export function inspectServerResult(result: unknown, names: ToolNames | undefined, server?: string): Finding[] {
  const { texts, keys, blocks, members, unread } = collect(result, 'result')
  const found = [
    ...checkHiddenText(texts, 'data'),
    ...checkInstructions(texts, 'data'),
    ...checkToolOrders(texts, names, server),
    ...checkCallMarkup(texts, names, server),
    ...checkSecrets(texts),
    ...checkSecrets(keys),
    ...members,
    ...checkSize(texts, unread),
  ]
  if (blocks.length < 2) return found
  return [...found, ...checkSplitBlocks(blocks, names, server).filter((finding) => !isAmong(finding, found))]
}

/** What is split over blocks may have been found already, because some blocks follow each other directly. */
function isAmong({ rule, excerpt }: Finding, found: readonly Finding[]): boolean {
  return found.some((other) => other.rule === rule && (rule !== 'secret' || other.excerpt === excerpt))
}

/** Inspects a question of a server before the user sees it. A page that the user opens may ask for secrets, a form must not. */
export function inspectElicitation(question: ElicitParams): Finding[] {
  if ('url' in question) {
    return inspectServerResult(question.message, undefined).filter(({ rule }) => rule !== 'credentials')
  }
  const { message, requestedSchema } = question
  return [...inspectServerResult({ message, requestedSchema }, undefined), ...checkForm(question)]
}

/** Inspects a request for the model of the user. */
export function inspectSampling({ messages, systemPrompt, tools }: CreateMessageParams): Finding[] {
  return inspectServerResult({ systemPrompt, messages, tools }, undefined)
}

/**
 * Inspects the arguments of a call before they are sent.
 *
 * @param tool The called tool. Its schema tells which arguments are code, where commands are ordinary.
 */
export function inspectArguments(
  args: unknown,
  tool?: { readonly name: string; readonly inputSchema?: unknown },
): Finding[] {
  const values = new CallArguments(tool)
  const { texts, keys, members, unread } = collect(args, 'arguments', values)
  return [
    ...checkHiddenText(texts, 'data'),
    ...checkSecrets(texts),
    ...checkSecrets(keys),
    ...members,
    ...values.findings,
    ...checkAddresses(texts),
    ...checkSize(texts, unread),
  ]
}

/** As much as a result or the definitions of a server may have by default. About 40 ms of work. */
const maxChars = 4 * 1_048_576

interface Collected {
  readonly texts: JoinedTexts
  /** Names of members that are not among the texts. */
  readonly keys: JoinedTexts
  /** The texts of content blocks. */
  readonly blocks: readonly TextBlock[]
  readonly members: Finding[]
  /** Places of values that could not be read. */
  readonly unread: readonly Place[]
}

function collect(value: unknown, root: string, values?: CallArguments): Collected {
  const members = new SecretMembers()
  const unread: Place[] = []
  const keys = new JoinedTexts(maxChars)
  const blocks: TextBlock[] = []
  let isFirst = true
  const texts = joinTexts((visit) => {
    const visitAndCheck = (text: string, place: Place) => {
      visit(text, place)
      if (!isFirst) return
      if (place.key === 'text') blocks.push({ text, place })
      members.check(place, text)
      values?.check(place, text)
    }
    const addUnread = (place: Place) => isFirst && unread.push(place)
    const addKey = (key: string, place: Place) => isFirst && keys.add(key, place)
    forEachText(value, { key: root }, visitAndCheck, addUnread, addKey)
    isFirst = false
  }, maxChars)
  if (keys.isCut) unread.push({ key: root })
  return { texts, keys, blocks, members: members.findings, unread }
}

function rootsOf({
  identity,
  instructions,
  tools,
  prompts,
  resourceTemplates,
  resources,
}: Definitions): [string, unknown][] {
  const named = (kind: string, name: string, value: unknown): [string, unknown] => [
    `${kind} ${toExcerpt(name, 80)}`,
    value,
  ]
  return [
    ['server', identity],
    ['instructions', instructions],
    ...tools.map((tool) => named('tool', tool.name, tool)),
    ...prompts.map((prompt) => named('prompt', prompt.name, prompt)),
    ...resourceTemplates.map((template) => named('resource template', template.uriTemplate, template)),
    ...resources.map((resource) => named('resource', resource.name, resource)),
  ]
}

function checkNames({ identity, tools, prompts, resourceTemplates }: Definitions): Finding[] {
  const parameters = tools.flatMap(({ name, inputSchema }) => {
    const properties =
      isObject(inputSchema) && isObject(inputSchema.properties) ? Object.keys(inputSchema.properties) : []
    return properties.map((property) => [`tool ${toExcerpt(name, 80)}, inputSchema`, property] as const)
  })
  const names = [
    ...(identity ? [['server', identity.name] as const] : []),
    ...tools.map(({ name }) => [`tool ${toExcerpt(name, 80)}`, name] as const),
    ...prompts.map(({ name }) => [`prompt ${toExcerpt(name, 80)}`, name] as const),
    ...resourceTemplates.map(({ name }) => [`resource template ${toExcerpt(name, 80)}`, name] as const),
    ...parameters,
  ]
  return names.slice(0, maxNames).flatMap(([where, name]) => checkName(name, where))
}

const maxNames = 10_000

/** Anything may be in what was not inspected, so it is never taken for clean. */
function checkSize(texts: JoinedTexts, unread: readonly Place[]): Finding[] {
  const found: Finding[] = []
  const add = (where: string, message: string) =>
    found.push({ rule: 'not-inspected', severity: 'high', where, message, excerpt: '' })
  if (texts.isCut) {
    add(
      texts.whereIs(0),
      `The text is longer than ${maxChars} characters. Its beginning, its end and samples were inspected, but not all of it.`,
    )
  }
  const [first] = unread
  if (first)
    add(describePlace(first), 'The value was not inspected: it is nested too deeply, or is not in its encoding.')
  return found
}
