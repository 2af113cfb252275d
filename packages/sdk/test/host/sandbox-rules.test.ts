import { describe, expect, it } from 'vitest'
import { commandFindings } from '../../src/host/sandbox/command-line.ts'
import { approvedVariables, environmentFindings } from '../../src/host/sandbox/environment-rules.ts'
import { knownPackage, knownRegistryName } from '../../src/host/sandbox/known-packages.ts'
import { isPlainLauncher } from '../../src/host/sandbox/plain-launcher.ts'

const split = (line: string) => line.split(' ')

function findingsOf(line: string): string[] {
  const [command = '', ...args] = split(line)
  return commandFindings({ command, args, env: {}, cwd: undefined }).map(
    ({ severity, message }) => `${severity}: ${message}`,
  )
}

const isPlain = (line: string, cwd?: string) => {
  const [command = '', ...args] = split(line)
  return isPlainLauncher({ command, args, cwd })
}

describe('options of containers [SEC-014]', () => {
  const isolated = 'high: The container is not isolated from the machine.'
  it.each([
    ['--privileged', 'high: The container has all rights on the machine (--privileged).'],
    ['--pid=host', isolated],
    ['--pid host', isolated],
    ['--userns=host', isolated],
    ['--ipc=host', isolated],
    ['--security-opt seccomp=unconfined', isolated],
    ['--cap-add SYS_ADMIN', isolated],
    ['--cap-add=CAP_all', isolated],
    ['--network=host', 'low: The container uses the network of the machine, including its local services.'],
    ['--net host', 'low: The container uses the network of the machine, including its local services.'],
    ['-v /:/host', 'high: The container can access the whole disk.'],
    ['-v/:/host', 'high: The container can access the whole disk.'],
    ['--volume=/home/me:/x', 'high: The container can access a whole home directory.'],
    ['--mount type=bind,source=/root,dst=/x', 'high: The container can access a whole home directory.'],
    ['--mount type=bind,src=/a,src=/', 'high: The container can access the whole disk.'],
    ['-v /var/run/docker.sock:/s', 'high: The container controls the container runtime, so it controls the machine.'],
    ['--env-file /home/me/.aws/credentials', 'high: The container gets AWS credentials (--env-file).'],
  ])('%s has a finding', (option, finding) => {
    for (const runtime of ['docker', 'podman', 'nerdctl'])
      expect(findingsOf(`${runtime} run ${option} mcp/server`)).toContain(finding)
    expect(findingsOf(`node server.js ${option}`)).not.toContain(finding)
  })

  it.each([
    '--privileged=false',
    '--network=none',
    '--cap-add=NET_RAW',
    '--pid=container:a',
    '-v /home/me/project:/x',
    '-v data:/x',
    '--mount type=volume,src=data,dst=/x',
    '--env-file /srv/app.env',
    '--env-file .env',
  ])('%s has none', (option) => {
    expect(findingsOf(`docker run ${option} mcp/server`).filter((text) => text.includes('container'))).toEqual([])
  })
})

describe('packages that are downloaded [SEC-014]', () => {
  const newest = (name: string) =>
    `low: Runs the version of "${name}" that is newest at each start. Pin a version to run the same code every time.`
  const pinned = (line: string) => findingsOf(line).filter((text) => text.includes('newest at each start'))

  it.each([
    ['npx -y pkg-name', 'pkg-name'],
    ['npx --yes pkg-name@latest', 'pkg-name'],
    ['npx -y @scope/name@^1.0.0', '@scope/name'],
    ['npx -y -p pkg-name run-it', 'pkg-name'],
    ['npx -y --package=pkg-name run-it', 'pkg-name'],
    ['npx -y --registry https://r.example pkg-name', 'pkg-name'],
    ['npx -y -- pkg-name', 'pkg-name'],
    ['bunx pkg-name', 'pkg-name'],
    ['pnpx pkg-name', 'pkg-name'],
    ['pnpm dlx pkg-name', 'pkg-name'],
    ['yarn dlx pkg-name', 'pkg-name'],
    ['bun x pkg-name', 'pkg-name'],
    ['npm exec -y pkg-name', 'pkg-name'],
    ['npm x --yes pkg-name', 'pkg-name'],
    ['npx -y github:a/b', 'github:a/b'],
    ['npx -y a/b', 'a/b'],
    ['uvx pkg-name', 'pkg-name'],
    ['uvx --python 3.12 pkg-name', 'pkg-name'],
    ['uvx --from pkg-name[all] run-it', 'pkg-name'],
    ['uvx pkg-name>=1', 'pkg-name'],
    ['uv tool run pkg-name', 'pkg-name'],
    ['pipx run --spec pkg-name run-it', 'pkg-name'],
    ['uvx --from git+https://a.example/b run-it', 'git+https://a.example/b'],
  ])('%s runs the newest version of %s', (line, name) => {
    expect(pinned(line)).toEqual([newest(name)])
  })

  it.each([
    'npx pkg-name',
    'npm exec pkg-name',
    'npm run pkg-name',
    'npx -y pkg-name@1.2.3',
    'npx -y @scope/name@v1.2.3-beta.1',
    'npx -y ./local',
    'npx -y',
    'npx -y file:../x',
    `npx -y github:a/b#${'a'.repeat(40)}`,
    'uvx pkg-name==1.2.3',
    'uvx pkg-name@1.2.3',
    'uvx --from ./local run-it',
    'uvx',
    `uvx --from git+https://a.example/b@${'a'.repeat(40)} run-it`,
    'uv run server.py',
    'pipx install pkg-name',
    'docker run mcp/server',
  ])('%s does not', (line) => {
    expect(pinned(line)).toEqual([])
  })

  it('are compared with well-known names', () => {
    expect(knownPackage('modelcontextprotocol-server-filesystem', 'npm')).toBe(
      '@modelcontextprotocol/server-filesystem',
    )
    expect(knownPackage('modelcontextprotocol-nothing-known', 'npm')).toBeUndefined()
    expect(knownPackage('@modelcontextprotocol/server-filesystem', 'npm')).toBe(
      '@modelcontextprotocol/server-filesystem',
    )
    expect(knownPackage('@modelcontextprotoco1/server-filesystem', 'npm')).toBe(
      '@modelcontextprotocol/server-filesystem',
    )
    expect(knownPackage('@model-context-protocol/anything', 'npm')).toBe('@modelcontextprotocol/anything')
    expect(knownPackage('@modelcontextprotocol', 'npm')).toBe('@modelcontextprotocol')
    expect(knownPackage('@unknown-scope/server', 'npm')).toBeUndefined()
    expect(knownPackage('x'.repeat(215), 'npm')).toBeUndefined()
    expect(knownPackage('Mcp_Server.Fetch', 'pypi')).toBe('Mcp_Server.Fetch')
    expect(knownPackage('mcp-server-fetcn', 'pypi')).toBe('mcp-server-fetch')
    expect(knownRegistryName('x')).toBeUndefined()
    expect(knownRegistryName('io.github.githubb/any')).toBe('io.github.github/any')
    expect(knownRegistryName('io.github.somebody-else/any')).toBeUndefined()
  })
})

describe('variables of a command [SEC-014]', () => {
  it('are found if they load or choose code, or point to private files', () => {
    const found = (env: Record<string, string>) =>
      environmentFindings(env).map(({ severity, message, excerpt }) => [severity, message, excerpt])
    expect(found({ LD_PRELOAD: '/a.so' })).toEqual([
      ['high', 'The variable LD_PRELOAD loads more code into the program.', 'LD_PRELOAD=/a.so'],
    ])
    expect(found({ KEY: '/home/me/.ssh/id_rsa' })).toEqual([
      ['high', 'The variable KEY gives access to SSH keys.', 'KEY'],
    ])
    expect(found({ PATH: '/a  b' })).toEqual([
      ['low', 'The variable PATH can change which code runs.', 'PATH=/a<U+0020><U+0020>b'],
    ])
    expect(found({ NODE_OPTIONS: '--require ./a.js' })[0]?.[0]).toBe('high')
    expect(found({ NODE_OPTIONS: '--max-old-space-size=100  --no-warnings' })).toEqual([])
    expect(found({ NODE_OPTIONS: '' })).toEqual([])
    expect(found({ NODE_OPTIONS: '--inspect' })[0]?.[0]).toBe('low')
    expect(found({ JAVA_TOOL_OPTIONS: '-Xmx1g' })).toEqual([])
    expect(found({ JAVA_TOOL_OPTIONS: '-Xmx1g -Dx=1' })[0]?.[0]).toBe('low')
    expect(found({ JAVA_TOOL_OPTIONS: '-javaagent:a.jar' })[0]?.[0]).toBe('high')
    expect(found({ PYTHONUNBUFFERED: '1', GIT_TOKEN: 'x', LOG: '1', CERT: 'a\n/home/me/.ssh/id_rsa' })).toEqual([])
  })

  it('are approved with their values if they are such, in a fixed order', () => {
    const env = { PATH: '/b', TOKEN: 't', HOME: '/a', KEY: '/home/me/.ssh/id_rsa' }
    const expected = [
      ['HOME', '/a'],
      ['KEY', '/home/me/.ssh/id_rsa'],
      ['PATH', '/b'],
    ]
    expect(approvedVariables(env)).toEqual(expected)
    expect(approvedVariables({ KEY: env.KEY, PATH: '/b', HOME: '/a' })).toEqual(expected)
  })
})

describe('commands of a usual form [HOST-009]', () => {
  it.each([
    'node server.js',
    'node --no-warnings ../server.mjs',
    'bun server.ts',
    'bun run server.ts',
    'bun x some-mcp-server',
    'deno run -A server.ts',
    'deno run npm:some-mcp-server',
    'deno run --allow-net jsr:/@scope/name',
    'uv run server.py',
    'uv --directory /srv run server.py',
    'uv tool run some-mcp-server',
    'java -Xmx512m -jar server.jar',
    'dotnet server.dll',
    'dotnet run --project app --no-build',
    'some-mcp-server --flag',
    '/home/me/bin/tool',
    './tool',
    'npx -y some-mcp-server',
  ])('%s is one', (line) => {
    expect(isPlain(line, '/home/me')).toBe(true)
  })

  it.each([
    '',
    'node',
    'node -e code',
    'node inspect server.js',
    'node https://a.example/server.js',
    'node /proc/self/fd/0',
    'node ../../../proc/self/x.js',
    'node /usr/lib/node_modules/npm/bin/npm-cli.js',
    'node //host/server.js',
    'bun run build',
    'bun run',
    'deno server.ts',
    'deno run https://a.example/server.ts',
    'deno run npm:../x',
    'deno run',
    'uv pip install x',
    'uv',
    'java -cp a Main',
    'java -jar server.txt',
    'java -Dx=1 -jar server.jar',
    'dotnet tool run x',
    'dotnet run something',
    'ls',
    '//host/tool',
    '/proc/self/exe',
    '/dev/shm/tool',
    'some-mcp-server -- bash -c x',
    'npx -y -c x',
    'npx -y tsx -e code',
  ])('%s is not', (line) => {
    expect(isPlain(line, '/home/me')).toBe(false)
  })

  it('depends on the folder of relative names', () => {
    expect(isPlain('node exe.js', '/proc/self')).toBe(false)
    expect(isPlain('node exe.js', '/srv')).toBe(true)
    expect(isPlain('node exe.js')).toBe(true)
    expect(isPlain('./tool', '/dev')).toBe(false)
  })
})
