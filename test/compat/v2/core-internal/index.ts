// Stands for the private package that tests of the official suite import some names from. What the public packages export comes
// from them, so that classes are the ones under test; the schemas come from the published package of schemas; the rest, which no
// program can reach, from the official sources.
export * from '@modelcontextprotocol/client'
export * from '@modelcontextprotocol/core'
export { encodeMcpParamValue, MCP_PARAM_HEADER_PREFIX } from '../packages/core-internal/src/shared/mcpParamHeaders.ts'
export { TOOL_RESULT_FOREIGN_FAMILY_KEYS } from '../packages/core-internal/src/wire/resultFamilies.ts'
