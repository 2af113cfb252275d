import { isObject } from '../../util/objects.ts'
import type { Definitions } from '../definitions.ts'
import { checkAddresses } from './addresses.ts'
import type { Finding } from './finding.ts'
import { checkHiddenText } from './hidden-text.ts'
import { checkInstructions, uniqueFindings } from './instructions.ts'
import { checkName, checkWords } from './look-alikes.ts'
import { checkSecrets, SecretMembers } from './secrets.ts'
import { checkShadowing, type OtherServer } from './shadowing.ts'
import { forEachText, JoinedTexts, type Place } from './texts.ts'
import { toExcerpt } from './visible.ts'

/**
 * Inspects the definitions of a server for text that deceives a user or a model.
 *
 * @param server The id of the server.
 * @param others The other servers of the host, for names that resemble theirs.
 * @example
 * const findings = inspectDefinitions('files', definitions, [{ id: 'mail', definitions: mailDefinitions }])
 */
export function inspectDefinitions(
  server: string,
  definitions: Definitions,
  others: readonly OtherServer[],
): Finding[] {
  const texts = new JoinedTexts(maxChars)
  // An order can be split over several descriptions, which other members separate in `texts`.
  const descriptions = new JoinedTexts(maxChars)
  for (const [root, value] of rootsOf(definitions)) {
    forEachText(value, { key: root }, (text, place) => {
      if (isKeyword(text, place)) return
      texts.add(text, place)
      if (place.key === 'description' && place.parent?.parent === undefined) descriptions.add(text, place)
    })
  }
  return [
    ...checkHiddenText(texts, 'definitions'),
    ...checkNames(definitions),
    ...checkWords(texts.text, (start, end) => texts.whereIs(start, end)),
    ...uniqueFindings([...checkInstructions(texts), ...checkInstructions(descriptions)]),
    ...checkShadowing(server, definitions, texts, others),
    ...checkSecrets(texts),
    ...checkSize(texts),
  ]
}

/** Values such as `string` in a schema, which would separate the descriptions around them. */
function isKeyword(text: string, { key }: Place): boolean {
  return (key === 'type' || key === 'format' || key === '$schema') && text.length < 64 && !text.includes(' ')
}

/** Inspects a result of a tool, a resource or a prompt before a model sees it. */
export function inspectResult(result: unknown): Finding[] {
  const { texts, members } = collect(result, 'result')
  return [
    ...checkHiddenText(texts, 'data'),
    ...checkInstructions(texts),
    ...checkSecrets(texts),
    ...members,
    ...checkSize(texts),
  ]
}

/** Inspects the arguments of a call before they are sent. */
export function inspectArguments(args: unknown): Finding[] {
  const { texts, members } = collect(args, 'arguments')
  return [
    ...checkHiddenText(texts, 'data'),
    ...checkSecrets(texts),
    ...members,
    ...checkAddresses(texts),
    ...checkSize(texts),
  ]
}

/** Characters that are inspected. About 10 ms of work. */
const maxChars = 1_048_576

function collect(value: unknown, root: string): { texts: JoinedTexts; members: Finding[] } {
  const texts = new JoinedTexts(maxChars)
  const members = new SecretMembers()
  forEachText(value, { key: root }, (text, place) => {
    texts.add(text, place)
    members.check(place, text)
  })
  return { texts, members: members.findings }
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

function checkSize(texts: JoinedTexts): Finding[] {
  if (!texts.isCut) return []
  const message = `Only the first ${maxChars} characters were inspected.`
  return [{ rule: 'not-inspected', severity: 'low', where: texts.whereIs(maxChars - 1), message, excerpt: '' }]
}
