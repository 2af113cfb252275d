// Published programs for the official SDK 1.x and 2.x. Each is started as it is: with the real SDK, and with ours in its place.

/** Values of the right form; no program gets to use them, because there is no network. */
const keys = {
  AIRTABLE_API_KEY: 'pat12345678901234.0123456789abcdef',
  API_KEY: 'key',
  BRAVE_API_KEY: 'key',
  BRAVE_MCP_TRANSPORT: 'stdio',
  FIGMA_API_KEY: 'key',
  PRIVATE_APP_ACCESS_TOKEN: 'key',
  SLACK_BOT_TOKEN: 'key',
  SUPABASE_ACCESS_TOKEN: 'sbp_key',
  SLACK_TEAM_ID: 'T1',
  TAVILY_API_KEY: 'key',
}

const call = (name, args = {}) => ({ method: 'tools/call', params: { name, arguments: args } })
const read = (uri) => ({ method: 'resources/read', params: { uri } })
const prompt = (name, args) => ({ method: 'prompts/get', params: { name, ...(args && { arguments: args }) } })
const complete = (ref, name, value) => ({
  method: 'completion/complete',
  params: { ref, argument: { name, value } },
})

/**
 * @typedef {object} Program
 * @property {string} entry The file to start, below `node_modules`.
 * @property {(folder: string) => string[]} [args] The command line; `folder` is an empty folder of this run.
 * @property {object[]} requests What is asked beyond the lists, an unknown tool and invalid arguments.
 */

/** What the two catalog servers are asked. */
const catalogRequests = [
  { method: 'tasks/list' },
  call('price', { item: 'tea' }),
  call('price', {}),
  call('show'),
  read('shop://note'),
  read('shop://items/1'),
  read('shop://none'),
  prompt('greet', { name: 'Ada' }),
  complete({ type: 'ref/resource', uri: 'shop://items/{id}' }, 'id', '1'),
  { method: 'logging/setLevel', params: { level: 'error' } },
  { method: 'server/discover' },
]

/** @type {Record<string, Program>} */
export const programs = {
  everything: {
    entry: '@modelcontextprotocol/server-everything/dist/index.js',
    requests: [
      call('echo', { message: 'hello' }),
      call('get-sum', { a: 2, b: 3 }),
      call('get-sum', { a: 'two', b: 3 }),
      call('get-structured-content', { location: 'New York' }),
      call('get-annotated-message', { messageType: 'error', includeImage: false }),
      call('get-tiny-image'),
      call('trigger-long-running-operation', { duration: 0.1, steps: 2 }),
      call('get-resource-links', { count: 2 }),
      prompt('simple-prompt'),
      prompt('args-prompt', { city: 'Oslo', state: 'NO' }),
      prompt('args-prompt'),
      prompt('none'),
      read('demo://resource/static/document/none.md'),
      complete({ type: 'ref/prompt', name: 'completable-prompt' }, 'department', 'E'),
      { method: 'resources/subscribe', params: { uri: 'demo://resource/dynamic/text/1' } },
      { method: 'logging/setLevel', params: { level: 'error' } },
      { method: 'unknown/method' },
    ],
  },
  filesystem: {
    entry: '@modelcontextprotocol/server-filesystem/dist/index.js',
    args: (folder) => [folder],
    requests: [
      call('write_file', { path: 'FOLDER/a.txt', content: 'one\ntwo\n' }),
      call('read_text_file', { path: 'FOLDER/a.txt', head: 1 }),
      call('edit_file', { path: 'FOLDER/a.txt', edits: [{ oldText: 'two', newText: 'three' }] }),
      call('list_directory', { path: 'FOLDER' }),
      call('read_text_file', { path: '/etc/hostname' }),
      call('directory_tree', { path: 'FOLDER' }),
    ],
  },
  memory: {
    entry: '@modelcontextprotocol/server-memory/dist/index.js',
    requests: [
      call('create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['mathematician'] }] }),
      call('read_graph'),
      call('search_nodes', { query: 'Ada' }),
      call('open_nodes', { names: 'Ada' }),
    ],
  },
  'sequential-thinking': {
    entry: '@modelcontextprotocol/server-sequential-thinking/dist/index.js',
    requests: [
      call('sequentialthinking', { thought: 'First', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }),
      call('sequentialthinking', { thought: 'Second' }),
    ],
  },
  github: {
    entry: '@modelcontextprotocol/server-github/dist/index.js',
    requests: [call('get_issue', { owner: 'a' }), call('create_issue', {})],
  },
  slack: { entry: '@modelcontextprotocol/server-slack/dist/index.js', requests: [call('slack_post_message', {})] },
  postgres: {
    entry: '@modelcontextprotocol/server-postgres/dist/index.js',
    args: () => ['postgres://127.0.0.1:1/none'],
    requests: [call('query', { sql: 'select 1' }), read('postgres://127.0.0.1:1/none/a/schema')],
  },
  tavily: { entry: 'tavily-mcp/build/index.js', requests: [call('tavily_search', {})] },
  hubspot: { entry: '@hubspot/mcp-server/dist/index.js', requests: [call('hubspot-list-objects', {})] },
  sentry: {
    entry: '@sentry/mcp-server/dist/index.js',
    args: () => ['--access-token=key'],
    requests: [call('search_docs', {}), call('find_organizations', { query: 7 })],
  },
  figma: {
    entry: 'figma-developer-mcp/dist/bin.js',
    args: () => ['--stdio'],
    requests: [call('get_figma_data', {}), call('get_figma_data', { fileKey: '../x' })],
  },
  kubernetes: {
    entry: 'mcp-server-kubernetes/dist/index.js',
    requests: [call('kubectl_get', {})],
  },
  brave: {
    entry: '@brave/brave-search-mcp-server/dist/index.js',
    requests: [call('brave_web_search', {}), call('brave_web_search', { query: 'x'.repeat(500) })],
  },
  airtable: {
    entry: 'airtable-mcp-server/dist/main.js',
    requests: [call('list_records', {}), call('describe_table', { baseId: 1, tableId: 'b' })],
  },
  fastmcp: {
    entry: '../fastmcp-server.js',
    requests: [
      call('add', { a: 1, b: 2 }),
      call('add', { a: 1 }),
      read('shop://hours'),
      prompt('greet', { name: 'Ada' }),
    ],
  },
  context7: {
    entry: '@upstash/context7-mcp/dist/index.js',
    requests: [call('resolve-library-id', {}), call('query-docs', { libraryId: 7 })],
  },
  supabase: {
    entry: '@supabase/mcp-server-supabase/dist/cli.js',
    requests: [call('list_projects', { a: 1 }), call('execute_sql', {})],
  },
  'catalog-v1': { entry: '../catalog-server-v1.js', requests: [...catalogRequests, call('broken'), call('wrap')] },
  'catalog-v2': { entry: '../catalog-server-v2.js', requests: [...catalogRequests, call('prices')] },
  todoist: { entry: 'todoist-mcp/dist/index.js', requests: [call('get_task', {}), call('close_task', { taskId: 1 })] },
}

/** The environment of a program. Its home is empty, so nothing of this machine changes what it does. */
export function environmentOf(folder) {
  return { PATH: process.env.PATH, HOME: folder, MEMORY_FILE_PATH: `${folder}/memory.jsonl`, ...keys }
}
