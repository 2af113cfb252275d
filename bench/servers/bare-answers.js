import { echoTool, extraTools, formSchema, listedTool, offersForm, searchSchema, serverInfo } from '../definitions.js'

const revisionKey = 'io.modelcontextprotocol/protocolVersion'
const answerMeta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
const cacheHints = { ttlMs: 0, cacheScope: 'private' }

const tools = [echoTool]
for (let n = 0; n < extraTools; n++) tools.push({ ...listedTool(n), inputSchema: searchSchema })
if (offersForm) tools.push({ name: 'form', description: 'A long form', inputSchema: formSchema })

/** The responses of the bare servers, on either revision. */
export function answer({ method, params }) {
  const stateless = params?._meta?.[revisionKey] !== undefined
  if (method === 'tools/call') {
    const { text = params.arguments.text0 } = params.arguments
    const content = [{ type: 'text', text }]
    return stateless ? { resultType: 'complete', content, _meta: answerMeta } : { content }
  }
  if (method === 'tools/list') {
    return stateless ? { resultType: 'complete', tools, ...cacheHints, _meta: answerMeta } : { tools }
  }
  if (method === 'initialize') {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
  }
  if (method === 'server/discover') {
    const supportedVersions = ['2026-07-28', '2025-11-25']
    return { resultType: 'complete', supportedVersions, capabilities: { tools: {} }, ...cacheHints, _meta: answerMeta }
  }
  return stateless ? { resultType: 'complete', _meta: answerMeta } : {}
}
