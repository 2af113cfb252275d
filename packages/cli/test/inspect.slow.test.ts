import { describe, expect, it } from 'vitest'
import { send } from './inspector-support.ts'
import { fixture, longestLine, Workspace } from './support.ts'

describe('tenon inspect', () => {
  it('prints the URL as JSON, serves the API, and ends on Ctrl-C', async () => {
    using work = new Workspace()
    await using child = work.start(['inspect', '--json', fixture('notes.js')])
    const printed = JSON.parse(await child.until(() => /^\{[^}]*\}\n/.exec(child.stdout)?.[0]))
    expect(printed).toEqual({ url: expect.any(String) })
    const { url } = printed
    const { origin, hash, hostname } = new URL(url)
    expect(hostname).toBe('127.0.0.1')
    const headers = { authorization: `Bearer ${hash.slice('#secret='.length)}` }
    const first = await send(`${origin}/api/events/1`, 'GET', { headers })
    expect(first.json).toMatchObject({ kind: 'server-added', name: 'notes' })
    expect((await send(`${origin}/api/configured`)).status).toBe(401)
    child.child.kill('SIGINT')
    expect(await child.exited).toMatchObject({ code: 0 })
    expect(child.stderr).toBe('')
  })

  it('prints only the URL, and waits for no key without a terminal', async () => {
    using work = new Workspace()
    await using child = work.start(['inspect'])
    expect(await child.until(() => /^.*\n/.exec(child.stdout)?.[0])).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#secret=/)
    child.child.kill('SIGTERM')
    expect(await child.exited).toMatchObject({ code: 0 })
    expect(child.stderr).toBe('')
  })

  it('connects to all servers of a config file', async () => {
    using work = new Workspace()
    await using child = work.start(['inspect', work.writeConfig(['files', 'mail'], 'servers.json')])
    const url = await child.until(() => /^.*\n/.exec(child.stdout)?.[0])
    const { origin, hash } = new URL(url)
    const headers = { authorization: `Bearer ${hash.trim().slice('#secret='.length)}` }
    const events = await Promise.all([1, 2, 3, 4].map((seq) => send(`${origin}/api/events/${seq}`, 'GET', { headers })))
    const names = events.flatMap(({ json }) => (json.kind === 'server-added' ? [json.name] : []))
    expect(names.sort()).toEqual(['files', 'mail'])
  })

  it('lists the servers of config files for the page', async () => {
    using work = new Workspace()
    const source = work.writeConfig(['files'], '.mcp.json')
    await using child = work.start(['inspect'])
    const { origin, hash } = new URL(await child.until(() => /^.*\n/.exec(child.stdout)?.[0]))
    const headers = { authorization: `Bearer ${hash.slice('#secret='.length)}` }
    const { json } = await send(`${origin}/api/configured`, 'GET', { headers })
    expect(json).toMatchObject([{ name: 'files', source, address: expect.stringContaining('notes.js') }])
    const body = JSON.stringify({ target: 'files', source })
    const type = { 'content-type': 'application/json' }
    const added = await send(`${origin}/api/servers`, 'POST', { headers: { ...headers, ...type }, body })
    expect(added.json).toEqual({ server: expect.any(String) })
  })

  it('lists the servers of --config for the page, and connects to the one that is named', async () => {
    using work = new Workspace()
    const source = work.writeConfig(['files', 'mail'], 'other.json')
    await using child = work.start(['inspect', 'mail', '--config', 'other.json'])
    const { origin, hash } = new URL(await child.until(() => /^.*\n/.exec(child.stdout)?.[0]))
    const headers = { authorization: `Bearer ${hash.slice('#secret='.length)}` }
    const { json } = await send(`${origin}/api/configured`, 'GET', { headers })
    expect(json).toMatchObject([
      { name: 'files', source },
      { name: 'mail', source },
    ])
    expect((await send(`${origin}/api/events/1`, 'GET', { headers })).json).toMatchObject({ name: 'mail' })
  })

  it.each([
    { name: 'an unknown option', args: ['inspect', '--bogus'], code: 2 },
    { name: 'an invalid port', args: ['inspect', '--port', '99999'], code: 2 },
    { name: 'a file that does not exist', args: ['inspect', './missing.js'], code: 2 },
    { name: 'an unknown server of a config file', args: ['inspect', 'x', '--config', './missing.json'], code: 2 },
  ])('returns $code for $name', async ({ args, code }) => {
    using work = new Workspace()
    expect(await work.run([...args, '--json'])).toMatchObject({ code })
  })

  it('has an example at the top of its help, within 80 columns', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['help', 'inspect'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Example: tenon inspect /)
    expect(longestLine(stdout)).toBeLessThanOrEqual(80)
  })

  it('returns 3 if the port is in use', async () => {
    using work = new Workspace()
    await using child = work.start(['inspect'])
    const { port } = new URL(await child.until(() => /^.*\n/.exec(child.stdout)?.[0]))
    const { code, stderr } = await work.run(['inspect', '--port', port])
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`port ${port} is in use`) })
  })
})
