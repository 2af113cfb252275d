import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Finding } from '../../src/host/findings/finding.ts'
import { inspectArguments, inspectDefinitions, inspectResult } from '../../src/host/findings/inspect.ts'
import { type Attack, poisonedArguments, poisonedResults, poisonedTools } from './corpus/attacks.ts'
import { definitionsWith, toolNamed } from './corpus/definitions.ts'

/** Names and descriptions of tools, and texts of results, from packages on the npm registry with a permissive license. */
interface PublishedServer {
  readonly package: string
  readonly version: string
  readonly license: string
  readonly tools: readonly (readonly [name: string, description: string])[]
  readonly results?: readonly string[]
}

const published: readonly PublishedServer[] = JSON.parse(
  readFileSync(new URL('./corpus/published.json', import.meta.url), 'utf8'),
)

const servers = published.map(({ package: id, tools }) => ({
  id,
  definitions: definitionsWith({ tools: tools.map(([name, description]) => toolNamed(name, description)) }),
}))

const mail = { id: 'mail', definitions: definitionsWith({ tools: [toolNamed('send_email', 'Sends a mail.')] }) }

describe('published servers', () => {
  it('is a corpus of more than 200 definitions and results with permissive licenses', () => {
    const licenses = new Set(published.map(({ license }) => license))
    expect([...licenses].filter((license) => !/^(?:MIT|ISC|Apache-2\.0|BSD-[23]-Clause)$/.test(license))).toEqual([])
    expect(published.flatMap(({ tools }) => tools).length).toBeGreaterThan(300)
    expect(published.flatMap(({ results }) => results ?? []).length).toBeGreaterThan(50)
  })

  it('raises no finding of high severity, and one of low severity, for the definitions of published servers', () => {
    const findings = servers.flatMap(({ id, definitions }) => inspectDefinitions(id, definitions, []).map(summary(id)))
    expect(findings).toEqual([
      '@neondatabase/mcp-server-neon: low instructions in tool run_sql, description: <important',
    ])
  })

  it('raises no finding for the texts of results of published servers', () => {
    const findings = published.flatMap(({ package: id, results }) =>
      (results ?? []).flatMap((text) => inspectResult({ content: [{ type: 'text', text }] }).map(summary(id))),
    )
    expect(findings).toEqual([])
  })

  it('raises no finding for the same texts as arguments', () => {
    const findings = published.flatMap(({ package: id, tools }) =>
      tools.flatMap(([, text]) => inspectArguments({ text }).map(summary(id))),
    )
    expect(findings).toEqual([])
  })

  it('finds between published servers only tools with the same name, or with a name that looks the same', () => {
    const findings = servers.flatMap(({ id, definitions }) => inspectDefinitions(id, definitions, servers))
    const shadowing = findings.filter(({ rule }) => rule === 'shadowing')
    expect(
      shadowing.filter(({ message }) => !/has a tool with the same name|^The name looks like/.test(message)),
    ).toEqual([])
    // GitHub and GitLab, two servers of Perplexity, several that list tables ...
    expect(new Set(shadowing.map(({ excerpt }) => excerpt)).size).toBe(14)
    expect(findings.length - shadowing.length).toBe(1)
  })
})

describe('attacks [HOST-008]', () => {
  it.each(poisonedTools)('finds in a definition: $title', (attack) => {
    const { name = 'add', description, parameter, more = [] } = attack
    const tools = [
      toolNamed(name, description, parameter),
      ...more.map((text, index) => toolNamed(`more${index}`, text)),
    ]
    expectFinding(inspectDefinitions('shop', definitionsWith({ tools }), [mail]), attack)
  })

  it.each(poisonedArguments)('finds in arguments: $title', (attack) => {
    expectFinding(inspectArguments(attack.arguments), attack)
  })
})

describe('attacks in results [TOOL-045]', () => {
  it.each(poisonedResults)('finds in a text block: $title', (attack) => {
    expectFinding(inspectResult({ content: [{ type: 'text', text: attack.text }] }), attack)
  })

  it.each(poisonedResults)('finds in structured content and in a resource: $title', (attack) => {
    expectFinding(inspectResult({ content: [], structuredContent: { rows: [{ note: attack.text }] } }), attack)
    expectFinding(inspectResult({ contents: [{ uri: 'file:///a', text: attack.text }] }), attack)
  })
})

function expectFinding(findings: readonly Finding[], { rule, severity }: Attack): void {
  expect(findings).toContainEqual(expect.objectContaining({ rule, severity }))
  // The user sees every character of an excerpt.
  for (const { excerpt } of findings) expect(excerpt).not.toMatch(/[\p{Cf}\p{Cc}\p{Co}]|\p{Variation_Selector}/u)
}

function summary(server: string) {
  return ({ rule, severity, where, excerpt }: Finding) => `${server}: ${severity} ${rule} in ${where}: ${excerpt}`
}
