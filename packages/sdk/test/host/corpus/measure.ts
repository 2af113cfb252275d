import type { Finding } from '../../../src/host/findings/finding.ts'
import { inspectArguments, inspectDefinitions, inspectResult } from '../../../src/host/findings/inspect.ts'
import { commandFindings } from '../../../src/host/sandbox/command-line.ts'
import type { Tool } from '../../../src/protocol/tools.ts'
import { definitionsWith } from './definitions.ts'

/** An argument of a call, in an attack or in an ordinary call. */
export interface ArgumentSample {
  readonly set: number
  readonly class?: string
  readonly tool: string
  readonly property: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly value: unknown
}

/** Definitions, a result, scopes or a package of a hostile server. */
export interface TextSample {
  readonly set: number
  readonly class: string
  readonly kind: 'definitions' | 'result' | 'scopes' | 'package'
  /** Definitions, or with scopes the names of tools. */
  readonly tools?: readonly (Tool | string)[]
  readonly text?: string
  /** Names of the tools that the model can call. */
  readonly catalog?: readonly string[]
  readonly scopes?: readonly string[]
  readonly name?: string
}

/** What is found in a call with an argument. */
export function inspectArgument({ tool: name, property, schema, value }: ArgumentSample): Finding[] {
  const tool = { name, inputSchema: { type: 'object' as const, properties: { [property]: schema } } }
  return inspectArguments({ [property]: value }, tool)
}

/** What is found in an attack. */
export function inspectSample(sample: TextSample): Finding[] {
  const { kind, tools = [], text = '', catalog = [], scopes = [], name = '' } = sample
  if (kind === 'definitions') return inspectDefinitions('shop', definitionsWith({ tools: tools as Tool[] }), [])
  if (kind === 'result') return inspectResult({ content: [{ type: 'text', text }] }, catalog)
  if (kind === 'package') return inspectPackage(name)
  return inspectScopes(scopes, tools as string[])
}

/** What is found in the names of tools and the scopes that their server asks for. */
export function inspectScopes(scopes: readonly string[], tools: readonly string[]): Finding[] {
  const definitions = definitionsWith({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) })
  return inspectDefinitions('shop', definitions, [], scopes)
}

/** What is found in the command that runs a package, and in a server that has its name. */
export function inspectPackage(name: string): Finding[] {
  const launch = { command: 'npx', args: ['-y', `${name}@1.0.0`], env: {}, cwd: undefined }
  const identity = { name, version: '1.0.0' }
  const definitions = inspectDefinitions('shop', definitionsWith({ identity } as never), [])
  return [...commandFindings(launch), ...definitions].filter(({ severity }) => severity === 'high')
}

/** Whether an attack was found: `high` is held until the user approves it. */
export function severityOf(findings: readonly Finding[]): Finding['severity'] | 'missed' {
  return findings.some(({ severity }) => severity === 'high') ? 'high' : findings.length > 0 ? 'low' : 'missed'
}
