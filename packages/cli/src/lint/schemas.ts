import type { Tool } from 'tenon'
import { escapePointer, isObject, type JsonObject } from 'tenon/internal'
import { compileJsonSchema } from 'tenon/server'
import { listOf, objectOf, stringsOf } from '../contract/json.ts'
import { listSchemas, type SchemaNode } from '../contract/walk-schema.ts'
import { argumentName, maxEnumValues, maxProperties, maxSchemaDepth, olderSchemaDepth } from './limits.ts'
import type { Problem, Rule, Severity } from './problem.ts'

/** Checks input and output schemas against JSON Schema, MCP and the limits of model APIs. */
export const checkSchemas: Rule = ({ contract: { tools } }) =>
  tools.flatMap((tool) => [...checkInput(tool), ...checkOutput(tool)])

/** Creates a problem of one schema. */
type Report = (rule: string, severity: Severity, path: string, message: string, fix: string) => Problem

function reporter(where: string, member: string): Report {
  return (rule, severity, path, message, fix) => ({ rule, severity, where, path: `/${member}${path}`, message, fix })
}

function checkInput({ name, inputSchema }: Tool): Problem[] {
  const report = reporter(`tool ${name}`, 'inputSchema')
  const schemas = listSchemas(inputSchema)
  return [
    ...checkRoot(inputSchema, report),
    ...checkArguments(inputSchema, report),
    ...checkCompiles(inputSchema, report),
    ...schemas.flatMap((node) => [...checkArray(node, report), ...checkRequired(node, report)]),
    ...checkRefs(schemas, report),
    ...checkUnions(schemas, report),
    ...checkExtent(schemas, report),
  ]
}

function checkOutput({ name, outputSchema }: Tool): Problem[] {
  if (outputSchema === undefined) return []
  const report = reporter(`tool ${name}`, 'outputSchema')
  const problems = checkCompiles(outputSchema, report)
  if (outputSchema.type !== 'object') {
    const message = 'The root is not of type "object". MCP allows that only since 2026-07-28, and older clients fail.'
    problems.push(report('output-schema-type', 'warning', '', message, 'Wrap the value: { "result": ... }.'))
  }
  return problems
}

function checkRoot(schema: JsonObject, report: Report): Problem[] {
  const problems: Problem[] = []
  if (schema.type !== 'object') {
    const message = 'The root is not of type "object", which MCP and every model API require.'
    problems.push(report('schema-type', 'error', '/type', message, 'Set "type": "object".'))
  }
  // "input_schema does not support oneOf, allOf, or anyOf at the top level" (github.com/anthropics/claude-code/issues/5973).
  for (const keyword of ['anyOf', 'oneOf', 'allOf'].filter((key) => key in schema)) {
    const message = `The root has "${keyword}". Anthropic then rejects every request that contains the tool.`
    const fix = 'List all arguments in "properties", and check in the tool which of them go together.'
    problems.push(report('schema-root-union', 'error', `/${keyword}`, message, fix))
  }
  const { $schema } = schema
  if (typeof $schema === 'string' && !/json-schema\.org\/(draft\/2020-12|draft-07)\/schema#?$/.test($schema)) {
    const message = `The dialect ${$schema} is not draft-07 or 2020-12, which clients support.`
    problems.push(report('schema-dialect', 'warning', '/$schema', message, 'Remove "$schema".'))
  }
  return problems
}

function checkArguments({ properties }: JsonObject, report: Report): Problem[] {
  return Object.keys(objectOf(properties))
    .filter((key) => !argumentName.test(key))
    .map((key) => {
      const message = `Anthropic rejects the argument name ${JSON.stringify(key)}, and with it every request that contains the tool.`
      const fix = 'Use at most 64 letters, digits, "_", "." and "-".'
      return report('argument-name', 'error', `/properties/${escapePointer(key)}`, message, fix)
    })
}

function checkCompiles(schema: JsonObject, report: Report): Problem[] {
  const problems: Problem[] = []
  const add = (error: unknown) => {
    const message = `Not a valid JSON Schema: ${error instanceof Error ? error.message : String(error)}`
    problems.push(report('schema-invalid', 'error', '', message, 'Correct the schema.'))
  }
  try {
    compileJsonSchema(schema, { onSkip: (reason) => problems.length < maxReports && add(reason) })
  } catch (error) {
    add(error)
  }
  return problems
}

const maxReports = 5

/** "array schema missing items" (github.com/ruvnet/ruflo/issues/1294); VS Code: github.com/agentscope-ai/ReMe/issues/84. */
function checkArray({ schema, path }: SchemaNode, report: Report): Problem[] {
  const isArray = schema.type === 'array' || stringsOf(schema.type).includes('array')
  if (!isArray || 'items' in schema || 'prefixItems' in schema) return []
  const message = 'A list without "items". OpenAI and VS Code reject the tool.'
  return [report('schema-array-items', 'error', path, message, 'Add "items", for example { "type": "string" }.')]
}

function checkRequired({ schema, path }: SchemaNode, report: Report): Problem[] {
  if (!isObject(schema.properties) || schema.patternProperties !== undefined) return []
  const known = schema.properties
  const unknown = stringsOf(schema.required).filter((key) => !Object.hasOwn(known, key))
  if (unknown.length === 0) return []
  const message = `Required, but not in "properties": ${unknown.slice(0, 10).join(', ')}`
  return [report('schema-required-unknown', 'warning', `${path}/required`, message, 'Define them, or remove them.')]
}

/** Gemini: github.com/google-gemini/gemini-cli/issues/13326 and github.com/anomalyco/opencode/issues/12295. */
function checkRefs(schemas: readonly SchemaNode[], report: Report): Problem[] {
  const refs = schemas.filter(({ schema }) => typeof schema.$ref === 'string')
  const remote = refs.find(({ schema }) => !String(schema.$ref).startsWith('#'))
  if (remote) {
    const message = `It refers to another document (${String(remote.schema.$ref)}), which clients do not fetch.`
    return [report('schema-ref-remote', 'error', remote.path, message, 'Put the definition into the schema.')]
  }
  const [first] = refs
  if (!first) return []
  const message = `It uses "$ref" (${refs.length} times). Gemini and some hosts reject references.`
  return [report('schema-ref', 'warning', first.path, message, 'Write the definitions where they are used.')]
}

/**
 * Gemini takes one type per schema, no `const`, and of the combinations only `anyOf`
 * (github.com/taylorwilsdon/google_workspace_mcp/issues/1099).
 */
function checkUnions(schemas: readonly SchemaNode[], report: Report): Problem[] {
  const nested = schemas.filter(({ path }) => path !== '')
  const problems: Problem[] = []
  const typed = nested.find(({ schema }) => listOf(schema.type).length > 1)
  if (typed) {
    const message = `A value has several types: ${listOf(typed.schema.type).join(', ')}. Not every model API takes a list of types.`
    problems.push(report('schema-union', 'warning', `${typed.path}/type`, message, 'Use one type, or "anyOf".'))
  }
  const union = nested.find(({ schema }) => 'oneOf' in schema || 'allOf' in schema)
  if (union) {
    const message = 'It uses "oneOf" or "allOf", which model APIs ignore or reject in their strict modes.'
    problems.push(report('schema-union', 'warning', union.path, message, 'Use "anyOf", or a plain object.'))
  }
  const anyOf = nested.find(({ schema }) => 'anyOf' in schema)
  if (anyOf) {
    const message = 'It uses "anyOf". Models fill in unions less reliably than plain values.'
    problems.push(report('schema-union', 'info', anyOf.path, message, 'Use one type if you can.'))
  }
  const conditional = schemas.find(({ schema }) => rareKeywords.some((keyword) => keyword in schema))
  if (conditional) {
    const used = rareKeywords.filter((keyword) => keyword in conditional.schema).join(', ')
    const message = `It uses ${used}, which models do not see or APIs reject in their strict modes.`
    problems.push(
      report('schema-keyword', 'info', conditional.path, message, 'Say the rule in the description as well.'),
    )
  }
  return problems
}

const rareKeywords = ['not', 'if', 'dependentSchemas', 'dependentRequired', 'patternProperties', 'prefixItems']

function checkExtent(schemas: readonly SchemaNode[], report: Report): Problem[] {
  const problems: Problem[] = []
  const deepest = schemas.reduce((deep, node) => (node.depth > deep.depth ? node : deep), schemas[0]!)
  if (deepest.depth > olderSchemaDepth) {
    const isTooDeep = deepest.depth > maxSchemaDepth
    const limit = isTooDeep ? maxSchemaDepth : `${maxSchemaDepth}, and with earlier models ${olderSchemaDepth}`
    const message = `The schema has ${deepest.depth} levels. The strict mode of OpenAI takes ${limit}.`
    problems.push(report('schema-depth', isTooDeep ? 'warning' : 'info', deepest.path, message, 'Flatten it.'))
  }
  const properties = schemas.reduce((sum, { schema }) => sum + Object.keys(objectOf(schema.properties)).length, 0)
  if (properties > maxProperties) {
    const message = `The schema has ${properties} properties. The strict mode of OpenAI takes ${maxProperties}.`
    problems.push(report('schema-size', 'warning', '', message, 'Split the tool.'))
  }
  const values = schemas.reduce((sum, { schema }) => sum + listOf(schema.enum).length, 0)
  if (values > maxEnumValues) {
    const message = `The schema has ${values} enum values. The strict mode of OpenAI takes ${maxEnumValues}.`
    problems.push(
      report('schema-size', 'warning', '', message, 'Use a string, and offer a tool that lists the values.'),
    )
  }
  return problems
}
