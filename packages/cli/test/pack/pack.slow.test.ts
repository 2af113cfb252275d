import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { createProject, manifest, pack } from './support.ts'

describe('tenon pack', () => {
  it('makes a bundle that a real unzip unpacks and that starts from there', async () => {
    using workspace = createProject()
    const { code, result } = await pack(workspace, '--out', 'build')
    expect(code).toBe(0)
    expect(result).toEqual({
      bundle: {
        path: workspace.file('build/weather-1.2.3.mcpb'),
        bytes: readFileSync(workspace.file('build/weather-1.2.3.mcpb')).byteLength,
        sha256: expect.stringMatching(/^[a-f0-9]{64}$/),
        files: expect.arrayContaining(['manifest.json', 'package.json', 'README.md', 'dist/main.js']),
        manifest: expect.objectContaining({ manifest_version: '0.3' }),
      },
      serverJson: { path: workspace.file('build/server.json'), content: expect.anything() },
      written: true,
    })
    const unpacked = workspace.file('unpacked')
    execFileSync('unzip', ['-q', result.bundle.path, '-d', unpacked])
    expect(JSON.parse(readFileSync(join(unpacked, 'manifest.json'), 'utf8'))).toEqual(result.bundle.manifest)
    const { command, args } = result.bundle.manifest.server.mcp_config
    const words = args.map((word: string) => word.replace(`\${__dirname}`, unpacked))
    await using client = await connect({ command, args: words, cwd: '/' })
    expect((await client.callTool('forecast')).text).toBe('sunny')
  })

  it('builds a project whose file to start is missing, and always runs "prepack"', async () => {
    const copy = 'cp src/main.ts dist/main.js && echo built'
    using missing = createProject({ scripts: { build: copy } })
    rmSync(missing.file('dist/main.js'))
    const { code, stderr } = await missing.run(['pack', '--out', 'out'])
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('Running "npm run build" ...') })
    expect(stderr).toContain('built')
    using stale = createProject({ scripts: { prepack: copy } })
    stale.write('dist/main.js', 'an old version')
    expect((await pack(stale)).code).toBe(0)
    using broken = createProject({ scripts: { prepack: 'exit 7' } })
    const { result } = await pack(broken)
    expect(result.error).toMatchObject({ code: 'build-failed', message: '"npm run prepack" failed: 7' })
  })

  it('takes the manifest from package.json and the running server', async () => {
    using workspace = createProject()
    const { result } = await pack(workspace)
    expect(result.bundle.manifest).toEqual({
      manifest_version: '0.3',
      name: 'weather',
      display_name: 'Weather',
      version: '1.2.3',
      description: 'Tells the weather',
      author: { name: 'Ada', email: 'ada@example.com', url: 'https://ada.example' },
      repository: { type: 'git', url: 'https://github.com/ada/weather' },
      license: 'MIT',
      server: {
        type: 'node',
        entry_point: 'dist/main.js',
        mcp_config: { command: 'node', args: [`\${__dirname}/dist/main.js`] },
      },
      compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: '>=20.19' } },
      tools: [{ name: 'forecast', description: 'The weather of tomorrow' }],
      prompts_generated: true,
    })
  })

  it('leaves out tests, sources, source maps, types and dependencies for development', async () => {
    using workspace = createProject()
    const { result } = await pack(workspace, '--dry-run')
    const files: string[] = result.bundle.files
    expect(files.filter((path) => !path.startsWith('node_modules/'))).toEqual([
      'README.md',
      'dist/main.js',
      'dist/main.js.map',
      'manifest.json',
      'package.json',
    ])
    expect(files.filter((path) => /only-for-tests|\.d\.ts$|tenon\/(src|test)\//.test(path))).toEqual([])
    expect(files).toContain('node_modules/tenon/dist/lib/server.js')
    expect(files).toContain('node_modules/cross-spawn/index.js')
    expect(result.written).toBe(false)
    expect(readdirSync(workspace.path).filter((name) => /mcpb|server\.json/.test(name))).toEqual([])
  })

  it('makes the same bytes each time, wherever and whenever it runs', async () => {
    using first = createProject()
    using second = createProject()
    chmodSync(second.file('README.md'), 0o600)
    const one = await pack(first)
    const { stdout } = await second.run(['pack', '--json'], { env: { TZ: 'Asia/Tokyo' } })
    expect(JSON.parse(stdout).bundle.sha256).toBe(one.result.bundle.sha256)
  })

  it('writes server.json for the registry, and keeps what the author added', async () => {
    using workspace = createProject()
    workspace.write('server.json', {
      title: 'My weather',
      version: '0.0.1',
      icons: [{ src: 'https://ada.example/a.png' }],
    })
    const url = 'https://github.com/ada/weather/releases/download/v1.2.3/weather-1.2.3.mcpb'
    const { result } = await pack(workspace, '--download-url', url, '--remote', 'https://ada.example/mcp')
    expect(JSON.parse(readFileSync(workspace.file('server.json'), 'utf8'))).toEqual(result.serverJson.content)
    expect(result.serverJson.content).toEqual({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'io.github.ada/weather',
      title: 'My weather',
      description: 'Tells the weather',
      version: '1.2.3',
      icons: [{ src: 'https://ada.example/a.png' }],
      repository: { url: 'https://github.com/ada/weather', source: 'github' },
      remotes: [{ type: 'streamable-http', url: 'https://ada.example/mcp' }],
      packages: [
        {
          registryType: 'npm',
          registryBaseUrl: 'https://registry.npmjs.org',
          identifier: '@ada/weather',
          version: '1.2.3',
          runtimeHint: 'npx',
          transport: { type: 'stdio' },
        },
        {
          registryType: 'mcpb',
          identifier: url,
          version: '1.2.3',
          fileSha256: result.bundle.sha256,
          transport: { type: 'stdio' },
        },
      ],
    })
  })

  it('uses manifest.json of the author, and turns its settings into environment variables of the registry', async () => {
    using workspace = createProject()
    workspace.write('manifest.json', {
      long_description: 'More',
      server: {
        type: 'node',
        entry_point: 'dist/main.js',
        mcp_config: {
          command: 'node',
          args: [`\${__dirname}/dist/main.js`],
          env: { API_KEY: `\${user_config.key}` },
        },
      },
      user_config: { key: { type: 'string', title: 'Key', description: 'Your key', required: true, sensitive: true } },
    })
    const { result } = await pack(workspace)
    expect(result.bundle.manifest).toMatchObject({ long_description: 'More', version: '1.2.3' })
    expect(result.serverJson.content.packages[0].environmentVariables).toEqual([
      { name: 'API_KEY', description: 'Your key', isRequired: true, isSecret: true },
    ])
  })

  it('describes an HTTP server without a bundle', async () => {
    using workspace = createProject({ bin: undefined, private: true })
    const { code, result } = await pack(workspace, '--no-bundle', '--remote', 'https://ada.example/mcp')
    expect(code).toBe(0)
    expect(result.bundle).toBeNull()
    expect(result.serverJson.content.remotes).toEqual([{ type: 'streamable-http', url: 'https://ada.example/mcp' }])
    expect(result.serverJson.content.packages).toBeUndefined()
  })

  it('puts two versions of a dependency where each dependent finds its own', async () => {
    using workspace = createProject()
    const add = (path: string, version: string, dependencies = {}) => {
      mkdirSync(workspace.file(`node_modules/${path}`), { recursive: true })
      workspace.write(`node_modules/${path}/package.json`, { name: path, version, dependencies })
    }
    add('a', '1.0.0', { b: '2' })
    add('a/node_modules/b', '2.0.0')
    add('b', '1.0.0')
    workspace.write('package.json', { ...manifest, dependencies: { tenon: '*', a: '1', b: '1' } })
    const { result } = await pack(workspace, '--dry-run')
    expect(result.bundle.files).toContain('node_modules/b/package.json')
    expect(result.bundle.files).toContain('node_modules/a/node_modules/b/package.json')
  })
})
