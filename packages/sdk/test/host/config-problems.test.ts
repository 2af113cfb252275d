// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of configuration files
import { describe, expect, it } from 'vitest'
import { checkServerConfigs, parseServerConfigs } from '../../src/host/config/parse-config.ts'
import { ConfigError, describeProblem } from '../../src/host/config/problems.ts'

const options = { env: { HOME: '/home/me' }, cwd: '/work' }

/** The problems of one server. */
function problemsOf(entry: unknown, rest: object = {}): string[] {
  const { errors } = checkServerConfigs({ mcpServers: { a: entry }, ...rest }, options)
  return errors.map((problem) => describeProblem(problem).replace('server "a"', '').replace(/^, /, '').trim())
}

function warningsOf(entry: object): string[] {
  const { warnings, errors } = checkServerConfigs({ mcpServers: { a: { command: 'node', ...entry } } }, options)
  expect(errors).toEqual([])
  return warnings.map(({ member, message }) => `${member} ${message}`)
}

describe('validation', () => {
  it.each([
    { bubblewrap: { read: ['/a'], write: [], network: true } },
    { container: { image: 'x', runtime: 'podman', network: 'net', maxMemoryBytes: 1, maxProcesses: 1 } },
    {
      container: {
        image: 'x',
        runtime: 'docker',
        mounts: [{ source: '/a' }, { source: '/b', target: '/c', write: true }],
      },
    },
  ])('accepts the sandbox %j', (sandbox) => {
    expect(problemsOf({ command: 'a', sandbox })).toEqual([])
  })

  it('reports all problems of all servers together, and returns nothing to start', () => {
    const config = {
      mcpServers: {
        files: { command: 'node', args: ['a', 1, { b: 2 }], env: { TOKEN: '${MISSING}' } },
        web: { url: 'ftp://example.com', timeoutMs: -1 },
        'bad id': { command: 'node' },
        fine: { command: 'node' },
      },
    }
    let thrown: unknown
    try {
      parseServerConfigs(config, { ...options, path: '/srv/mcp.json' })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigError)
    const { code, message, problems } = thrown as ConfigError
    expect(code).toBe('invalid-argument')
    expect(message.split('\n')).toEqual([
      'Invalid server configuration in /srv/mcp.json: 6 problems.',
      '  server "files", args[1] must be a string.',
      '  server "files", args[2] must be a string.',
      '  server "files", env.TOKEN uses ${MISSING}, but the environment variable MISSING is not set. Set it, or write ${MISSING:-default}.',
      '  server "web", timeoutMs must be a number of milliseconds above 0.',
      '  server "web", url must start with https:, not ftp:',
      '  server "bad id" is not a valid id: use 1 to 64 letters, digits, "-", "_" or ".", for example "bad-id".',
    ])
    expect(problems[2]).toMatchObject({ server: 'files', member: 'env.TOKEN' })
    expect(Object.keys(checkServerConfigs(config, options).servers)).toEqual(['fine'])
  })

  it.each([
    [7, 'must be an object with "command" or "url".'],
    [{}, 'needs "command" (a program to start) or "url".'],
    [{ command: '' }, 'command must not be empty.'],
    [{ command: 7 }, 'command must be a string.'],
    [{ command: 'a\0b' }, 'command must not contain NUL characters.'],
    [{ command: '~/bin/server' }, 'command starts with "~", which only a shell replaces. Write "${userHome}" instead.'],
    [{ command: 'a', url: 'https://b.example' }, 'url cannot be combined with "command". Remove one of them.'],
    [{ command: 'a', args: 'b' }, 'args must be an array of strings.'],
    [{ command: 'a', env: ['B=c'] }, 'env must be an object of strings.'],
    [{ command: 'a', env: { 'B=': 'c' } }, 'env.B= is not a valid name of an environment variable.'],
    [{ command: 'a', env: { B: { c: 1 } } }, 'env.B must be a string.'],
    [{ command: 'a', type: 'http' }, 'type must be "stdio" for a server with a command, not "http".'],
    [
      { command: 'a', envFile: '.env' },
      'envFile cannot be read here. Use readConfigFile(), or put the variables into "env".',
    ],
    [{ command: 'a', trust: 'yes' }, 'trust must be "trusted" or "untrusted".'],
    [{ command: 'a', disabled: 'true' }, 'disabled must be true or false.'],
    [{ command: 'a', tools: 'read' }, 'tools must be an array of strings.'],
    [{ command: 'a', sandbox: true }, 'sandbox must be { "container": { "image": "..." } } or { "bubblewrap": {} }.'],
    [{ command: 'a', sandbox: { container: {} } }, 'sandbox.container.image is missing.'],
    [
      { command: 'a', sandbox: { container: { image: 'x', mount: [] } } },
      'sandbox.container.mount is not known. Did you mean "mounts"?',
    ],
    [{ command: 'a', sandbox: { bubblewrap: { network: 1 } } }, 'sandbox.bubblewrap.network must be true or false.'],
    [
      { command: 'a', sandbox: { bubblewrap: { read: ['/a', 1] } } },
      'sandbox.bubblewrap.read must be an array of strings.',
    ],
    [
      { command: 'a', sandbox: { bubblewrap: { write: '/a' } } },
      'sandbox.bubblewrap.write must be an array of strings.',
    ],
    ...Object.entries({
      runtime: ['rocket', '"docker" or "podman"'],
      image: [1, 'a string'],
      network: [1, 'true, false or a name'],
      maxMemoryBytes: [0, 'a number above 0'],
      maxProcesses: [1.5, 'a number above 0'],
      extraArgs: [{}, 'an array of strings'],
    }).map(([name, [value, expected]]): [object, string] => [
      { command: 'a', sandbox: { container: { image: 'x', [name]: value } } },
      `sandbox.container.${name} must be ${expected}.`,
    ]),
    ...[
      {},
      [{}],
      [{ source: 1 }],
      [{ source: '/a', target: 1 }],
      [{ source: '/a', write: 'no' }],
      [{ source: '/a', mode: 'z' }],
    ].map((mounts): [object, string] => [
      { command: 'a', sandbox: { container: { image: 'x', mounts } } },
      'sandbox.container.mounts must be an array of { "source", "target", "write" }.',
    ]),
    [{ url: 'https://b.example', type: 'ws' }, 'type must be "http" or "sse" for a server with a URL, not "ws".'],
    [{ url: 'https://b.example', headers: { 'a b': 'c' } }, 'headers.a b is not a valid header name.'],
    [{ url: 'https://b.example', headers: { a: 'b\r\nc: d' } }, 'headers.a must not contain line breaks.'],
    [{ url: 'b.example' }, 'url must be a complete URL, such as "https://example.com/mcp".'],
    [{ server: {} }, 'server must be an McpServer or a Server. Set "command" or "url" for other servers.'],
  ])('refuses %j', (entry, problem) => {
    expect(problemsOf(entry)).toEqual([problem])
  })

  it('refuses a second server without a prefix, unless it is disabled', () => {
    const bare = { command: 'node', prefix: false }
    const config = { a: bare, b: bare, c: { ...bare, disabled: true }, d: { command: 'node', prefix: true } }
    const { servers, errors } = checkServerConfigs(config, options)
    expect(errors.map(describeProblem)).toEqual([
      'server "b", prefix cannot be false, because it is for "a". Only one server can have no prefix.',
    ])
    expect(Object.keys(servers)).toEqual(['a', 'c', 'd'])
    expect(problemsOf({ command: 'node', prefix: 'files' })).toEqual(['prefix must be true or false.'])
  })

  it('refuses URLs with credentials, and plain http to another machine unless it is allowed', () => {
    const refused = (url: string) => problemsOf({ url })[0] ?? ''
    expect(refused('https://me:secret@b.example/mcp')).toMatch(/^url must not contain a user name or password/)
    expect(refused('https://token@b.example/mcp')).toMatch(/^url must not contain a user name or password/)
    expect(refused('http://b.example/mcp')).toMatch(/^url uses plain http: to another machine \(b\.example\)/)
    expect(refused('http://localhost.b.example/mcp')).toContain('plain http:')
    expect(refused('http://0x7f000001.b.example/')).toContain('plain http:')
    expect(problemsOf({ url: 'http://b.example/mcp', allowInsecure: true })).toEqual([])
    for (const host of ['localhost:3000', '127.0.0.1', '127.1', '[::1]:80'])
      expect(problemsOf({ url: `http://${host}/mcp` })).toEqual([])
  })

  it('asks "did you mean" for misspelt members, which are errors because they would be without effect', () => {
    expect(problemsOf({ comand: 'node' })).toEqual([
      'comand is not known. Did you mean "command"?',
      'needs "command" (a program to start) or "url".',
    ])
    expect(problemsOf({ command: 'a', disabeld: true })).toEqual(['disabeld is not known. Did you mean "disabled"?'])
    expect(problemsOf({ command: 'a', timeoutMS: 1 })).toEqual(['timeoutMS is not known. Did you mean "timeoutMs"?'])
    expect(problemsOf({ command: 'a', tool: ['b'] })).toEqual(['tool is not known. Did you mean "tools"?'])
    const { errors } = checkServerConfigs({ mcpServer: { a: { command: 'b' } } }, options)
    expect(errors.map(describeProblem)).toEqual(['Unknown member "mcpServer". Did you mean "mcpServers"?'])
  })

  it('ignores known members of other hosts and warns about unknown and lost ones', () => {
    expect(warningsOf({ autoApprove: [], alwaysAllow: ['x'], icon: 'i', description: 'd', gallery: true })).toEqual([])
    expect(warningsOf({ banana: 1 })).toEqual(['banana is not known and not used.'])
    expect(warningsOf({ timeout: 60, excludeTools: ['x'] })).toEqual([
      'timeout is not used, because hosts disagree about its unit. Set `timeoutMs`.',
      'excludeTools is not used. List the tools that you want in `tools`.',
    ])
    expect(warningsOf({ command: 'npx -y server' })).toEqual([
      'command contains spaces, but it is only the program. Put the arguments into "args".',
    ])
    const remote = checkServerConfigs({ a: { url: 'https://b.example', sandbox: {}, args: [] } }, options)
    expect(remote.warnings.map(({ member }) => member)).toEqual(['args', 'sandbox'])
    expect(warningsOf({ headers: {} })).toEqual(['headers is not used, because the server has no URL.'])
  })

  it('warns when a file has servers in two places', () => {
    const { servers, warnings } = checkServerConfigs(
      { mcpServers: { a: { command: 'x' } }, servers: { b: { command: 'y' } } },
      options,
    )
    expect(Object.keys(servers)).toEqual(['a'])
    expect(warnings.map(describeProblem)).toEqual([
      'Only the servers in "mcpServers" are used; those in "servers" are ignored.',
    ])
  })

  it('explains what to do about a value that only an editor can ask for', () => {
    const inputs = [{ id: 'api-key', type: 'promptString', description: 'Key of the shop' }]
    const { errors } = checkServerConfigs(
      { inputs, servers: { shop: { command: 'x', env: { KEY: '${input:api-key}' } } } },
      options,
    )
    expect(errors.map(describeProblem)).toEqual([
      'server "shop", env.KEY uses ${input:api-key} ("Key of the shop"), which only an editor can ask for. Put the value into an environment variable and write ${env:API_KEY}.',
    ])
  })

  it('names server, member and variable if a variable has no value', () => {
    expect(problemsOf({ command: 'x', args: ['a', '${env:NOPE}'] })).toEqual([
      'args[1] uses ${env:NOPE}, but the environment variable NOPE is not set. Set it, or write ${NOPE:-default}.',
    ])
    expect(problemsOf({ command: '${command:pick}' })).toEqual([
      'command uses ${command:pick}, which is not supported. Use ${NAME} for an environment variable, ${workspaceFolder} or ${userHome}.',
    ])
    expect(problemsOf({ command: '${toString}' })[0]).toContain('the environment variable toString is not set')
  })

  it('suggests a valid id', () => {
    const suggestion = (id: string) => {
      const { errors, servers } = checkServerConfigs({ mcpServers: { [id]: { command: 'x' } } }, options)
      expect(Object.keys(servers)).toEqual([])
      return /for example "(.*)"/.exec(errors[0]?.message ?? '')?.[1]
    }
    expect(suggestion('My files & more')).toBe('My-files-more')
    expect(suggestion('')).toBe('server-1')
    expect(suggestion('日本')).toBe('server-1')
    expect(suggestion('x'.repeat(65))).toBe('x'.repeat(64))
    expect(suggestion('@scope/name')).toBe('scope-name')
    expect(problemsOf({ command: 'x' })).toEqual([])
  })

  it('cannot be used to change prototypes', () => {
    const config = JSON.parse(
      '{ "mcpServers": { "__proto__": { "command": "x" }, "constructor": { "command": "y" } } }',
    )
    const { servers, errors } = checkServerConfigs(config, options)
    expect(errors.map(({ server }) => server)).toEqual(['__proto__'])
    expect(Object.keys(servers)).toEqual(['constructor'])
    expect(Object.getPrototypeOf(servers)).toBeNull()
    expect(servers.toString).toBeUndefined()
  })

  it('keeps the message readable if there are many problems', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`s${index}`, { command: '' }]))
    const error = new ConfigError(checkServerConfigs(many, options).errors, undefined)
    expect(error.message.split('\n')).toHaveLength(102)
    expect(error.message).toMatch(/^Invalid server configuration: 150 problems\.\n[\s\S]*\n {2}and 50 more$/)
    expect(error.problems).toHaveLength(150)
  })

  it.each([null, [], 'text', 7, { theme: 'dark', size: { a: 1 } }])('refuses %j as a configuration', (value) => {
    expect(checkServerConfigs(value, options).errors).toHaveLength(1)
  })
})
