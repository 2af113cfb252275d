import type { ServerCapabilities } from 'tenon'
import type { Contract } from '../contract/contract.ts'
import { type CheckResult, fail, type Outcome, pass, skip } from './check.ts'
import type { Scenario, Suite, SuiteCheck } from './suite.ts'

/** What is known about the server before the scenarios run. */
export interface ConformanceSubject {
  readonly url: string
  readonly contract: Contract
  readonly capabilities: ServerCapabilities
  /** True if the server speaks stdio, and the URL is that of a bridge. */
  readonly isBridged: boolean
  /** Whether tools without readOnlyHint may be called. */
  readonly mayCallTools: boolean
  readonly timeoutMs: number
}

/** Runs the official scenarios that apply to the server, one after the other. */
export async function runConformance(
  suite: Suite,
  subject: ConformanceSubject,
  onResult: (result: CheckResult) => void,
): Promise<void> {
  const { revision } = subject.contract
  const scenarios = (await suite.list()).filter(({ revisions }) => revisions.includes(revision))
  for (const scenario of scenarios) {
    const reason = reasonToSkip(scenario, subject)
    const outcome = reason === undefined ? await runScenario(suite, scenario, subject) : skip(reason)
    onResult({ group: 'conformance', name: scenario.name, ...outcome })
  }
}

async function runScenario(suite: Suite, { name }: Scenario, subject: ConformanceSubject): Promise<Outcome> {
  const checks = await suite.run(name, subject.url, subject.contract.revision, subject.timeoutMs)
  if (!checks) return fail('The scenario did not finish.')
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length
  if (failed.length > 0) return fail(failed.map(describe).join('; '))
  return passed === 0
    ? skip('The scenario found nothing to check.')
    : pass(passed === 1 ? '1 check' : `${passed} checks`)
}

function describe({ id, status, message }: SuiteCheck): string {
  return `${status === 'WARNING' ? 'warning: ' : ''}${id}: ${message}`
}

/** What a scenario needs: the suite was written for a server with these. */
interface Needs {
  readonly tool?: string
  readonly prompt?: string
  readonly resource?: string
  readonly template?: string
  readonly capability?: (capabilities: ServerCapabilities) => unknown
  /** It examines HTTP itself. */
  readonly http?: boolean
  /** It calls the first tool of the list. */
  readonly callsFirstTool?: boolean
}

const logging = ({ logging }: ServerCapabilities) => logging
const resources = ({ resources }: ServerCapabilities) => resources
const prompts = ({ prompts }: ServerCapabilities) => prompts
const input = (name: string): Needs => ({ tool: `test_input_required_result_${name}` })

const needs: Readonly<Record<string, Needs>> = {
  'server-session-lifecycle': { http: true },
  'logging-set-level': { capability: logging },
  'completion-complete': {
    prompt: 'test_prompt_with_arguments',
    capability: ({ completions }) => completions,
  },
  'tools-list': { capability: ({ tools }) => tools },
  'tools-call-simple-text': { tool: 'test_simple_text' },
  'tools-call-image': { tool: 'test_image_content' },
  'tools-call-audio': { tool: 'test_audio_content' },
  'tools-call-embedded-resource': { tool: 'test_embedded_resource' },
  'tools-call-mixed-content': { tool: 'test_multiple_content_types' },
  'tools-call-with-logging': { tool: 'test_tool_with_logging' },
  'tools-call-error': { tool: 'test_error_handling' },
  'tools-call-with-progress': { tool: 'test_tool_with_progress' },
  'tools-call-sampling': { tool: 'test_sampling' },
  'tools-call-elicitation': { tool: 'test_elicitation' },
  'json-schema-2020-12': { tool: 'json_schema_2020_12_tool' },
  'elicitation-sep1034-defaults': { tool: 'test_elicitation_sep1034_defaults' },
  'elicitation-sep1330-enums': { tool: 'test_elicitation_sep1330_enums' },
  'server-stateless': { tool: 'test_missing_capability' },
  'server-sse-polling': { tool: 'test_reconnection', http: true },
  'server-sse-multiple-streams': { http: true },
  'resources-list': { capability: resources },
  'resources-read-text': { resource: 'test://static-text' },
  'resources-read-binary': { resource: 'test://static-binary' },
  'resources-templates-read': { template: 'test://template/{id}/data' },
  'resources-subscribe': { resource: 'test://watched-resource' },
  'resources-unsubscribe': { resource: 'test://watched-resource' },
  'sep-2164-resource-not-found': { capability: resources },
  'prompts-list': { capability: prompts },
  'prompts-get-simple': { prompt: 'test_simple_prompt' },
  'prompts-get-with-args': { prompt: 'test_prompt_with_arguments' },
  'prompts-get-embedded-resource': { prompt: 'test_prompt_with_embedded_resource' },
  'prompts-get-with-image': { prompt: 'test_prompt_with_image' },
  'dns-rebinding-protection': { http: true },
  caching: { capability: ({ tools, prompts, resources }) => tools && prompts && resources },
  'http-header-validation': { http: true, callsFirstTool: true },
  'http-custom-header-server-validation': { http: true, tool: 'test_x_mcp_header' },
  'input-required-result-basic-elicitation': input('elicitation'),
  'input-required-result-basic-sampling': input('sampling'),
  'input-required-result-basic-list-roots': input('list_roots'),
  'input-required-result-request-state': input('request_state'),
  'input-required-result-multiple-input-requests': input('multiple_inputs'),
  'input-required-result-multi-round': input('multi_round'),
  'input-required-result-missing-input-response': input('elicitation'),
  'input-required-result-non-tool-request': { prompt: 'test_input_required_result_prompt' },
  'input-required-result-result-type': input('elicitation'),
  'input-required-result-unsupported-methods': input('elicitation'),
  'input-required-result-tampered-state': input('tampered_state'),
  'input-required-result-capability-check': input('capabilities'),
  'input-required-result-ignore-extra-params': input('elicitation'),
  'input-required-result-validate-input': input('elicitation'),
}

function reasonToSkip({ name }: Scenario, subject: ConformanceSubject): string | undefined {
  const { contract, capabilities, isBridged, mayCallTools } = subject
  const { tool, prompt, resource, template, capability, http, callsFirstTool } = needs[name] ?? {}
  if (http && isBridged) return 'It is about HTTP; this is a stdio server.'
  if (capability && !capability(capabilities)) return 'The server lacks a capability for it.'
  if (tool !== undefined && !contract.tools.some((item) => item.name === tool)) return `It needs the tool ${tool}.`
  if (prompt !== undefined && !contract.prompts.some((item) => item.name === prompt))
    return `It needs the prompt ${prompt}.`
  if (resource !== undefined && !contract.resources.some(({ uri }) => uri === resource))
    return `It needs the resource ${resource}.`
  if (template !== undefined && !contract.resourceTemplates.some(({ uriTemplate }) => uriTemplate === template))
    return `It needs the resource template ${template}.`
  if (callsFirstTool && !mayCallTools && contract.tools[0]?.annotations?.readOnlyHint !== true)
    return 'It calls the first tool, which is not read-only. Pass --call-tools to allow it.'
  return undefined
}
