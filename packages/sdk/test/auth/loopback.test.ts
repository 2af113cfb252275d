import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type RedirectOptions, waitForRedirect } from '../../src/auth/node/loopback.ts'

async function wait(options: RedirectOptions = {}) {
  const waiting = await waitForRedirect(options)
  onTestFinished(() => waiting.close())
  return waiting
}

/** A request of any shape, on a connection of its own. */
function ask(
  uri: string,
  { method = 'GET', host = '', address = '' } = {},
): Promise<{ status: number; headers: object; body: string }> {
  const url = new URL(uri)
  return new Promise((resolve, reject) => {
    const options = { method, agent: false, headers: { host: host || url.host }, ...(address && { hostname: address }) }
    const call = request(url, options, async (response) => {
      resolve({ status: response.statusCode!, headers: response.headers, body: await text(response) })
    })
    call.on('error', reject)
    call.end()
  })
}

async function isGone(uri: string): Promise<boolean> {
  return ask(uri).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  )
}

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  connection: 'close',
}

describe('the loopback redirect listener', () => {
  it('listens on loopback on a free port and returns the redirect [AUTH-089]', async () => {
    const { redirectUri, result } = await wait()
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    const { status, body, headers: sent } = await ask(`${redirectUri}?code=a%2Bb&state=s&iss=https%3A%2F%2Fas.example`)
    expect(status).toBe(200)
    expect(sent).toMatchObject(headers)
    expect(body).toContain('<h1>Authorization granted</h1>')
    expect(Object.fromEntries(await result)).toEqual({ code: 'a+b', state: 's', iss: 'https://as.example' })
    const other = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)
    if (other)
      await expect(ask(redirectUri, { address: other.address })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('shows and returns the error of the authorization server', async () => {
    const { redirectUri, result } = await wait()
    const { status, body } = await ask(`${redirectUri}?error=access_denied&error_description=No&state=s`)
    expect(status).toBe(200)
    expect(body).toContain('<h1>Authorization was not granted</h1>')
    expect((await result).get('error')).toBe('access_denied')
  })

  it('stops after the first response and closes every connection', async () => {
    const { redirectUri, result } = await wait()
    const idle = connect(Number(new URL(redirectUri).port), '127.0.0.1')
    const ended = new Promise<void>((resolve) => void idle.on('error', () => {}).on('close', () => resolve()))
    await new Promise<void>((resolve) => void idle.on('connect', () => resolve()))
    idle.write('GET /callback HTTP/1.1\r\n')
    await ask(`${redirectUri}?code=1`)
    await result
    await ended
    expect(await isGone(redirectUri)).toBe(true)
  })

  it('accepts only one of two simultaneous responses', async () => {
    const { redirectUri, result } = await wait()
    const answers = await Promise.allSettled([ask(`${redirectUri}?code=1`), ask(`${redirectUri}?code=2`)])
    const statuses = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value.status] : []))
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(['1', '2']).toContain((await result).get('code'))
  })

  it('CVE-2025-62800: shows a page without any part of the request and without scripts', async () => {
    const hostile = encodeURIComponent('<script>alert("zebra")</script>')
    const { redirectUri, result } = await wait({ expect: (state) => state === 'right' })
    const { origin } = new URL(redirectUri)
    const pages = [
      await ask(`${redirectUri}?code=${hostile}&state=${hostile}`),
      await ask(`${redirectUri}/${hostile}`),
      await ask(`${origin}/${hostile}?${hostile}`),
      await ask(`${redirectUri}?error=${hostile}&error_description=${hostile}&error_uri=${hostile}&state=right`),
    ]
    expect(pages.map(({ status }) => status)).toEqual([400, 404, 404, 200])
    for (const { body, headers: sent } of pages) {
      expect(body).not.toMatch(/script|zebra|alert|right|javascript:|\son\w+=/)
      expect(sent).toMatchObject(headers)
    }
    await result
  })

  it('rejects a response with a wrong or missing state and keeps waiting [AUTH-088]', async () => {
    const asked: string[] = []
    const { redirectUri, result } = await wait({
      expect: (state) => {
        asked.push(state)
        return state === 'right'
      },
    })
    for (const query of ['?code=evil&state=wrong', '?code=evil', '?error=x&state=wrong', '?code=evil&state=']) {
      expect((await ask(redirectUri + query)).status).toBe(400)
    }
    expect((await ask(`${redirectUri}?code=good&state=right`)).status).toBe(200)
    expect((await result).get('code')).toBe('good')
    expect(asked).toEqual(['wrong', '', 'wrong', '', 'right'])
  })

  it.each([
    '?code=1&code=2&state=s',
    '?code=1&state=s&state=t',
    '?code=1&state=s&iss=a&iss=b',
    '?code=1&error=x&state=s',
    '?state=s',
    '?',
    '',
  ])('rejects %j, which no authorization server sends', async (query) => {
    const { redirectUri, result } = await wait()
    const { status, body } = await ask(redirectUri + query)
    expect(status).toBe(400)
    expect(body).toContain('<h1>Unexpected request</h1>')
    await ask(`${redirectUri}?code=good&state=s`)
    expect((await result).get('code')).toBe('good')
  })

  it.each([
    ['/', 404],
    ['/favicon.ico', 404],
    ['/callback/', 404],
    ['/callback/../callback', 404],
    ['/Callback?code=1', 404],
    ['//callback?code=1', 404],
    ['//evil.example/callback?code=1', 404],
    ['http://evil.example/callback?code=1', 404],
    ['//[', 404],
    ['*', 404],
  ])('answers 404 for other paths: %s', async (path, status) => {
    const { redirectUri } = await wait()
    const { port, host } = new URL(redirectUri)
    const socket = connect(Number(port), '127.0.0.1')
    socket.end(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it.each(['POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('refuses the method %s', async (method) => {
    const { redirectUri, result } = await wait()
    const { status, headers: sent } = await ask(`${redirectUri}?code=1`, { method })
    expect(status).toBe(405)
    expect(sent).toMatchObject({ allow: 'GET' })
    await ask(`${redirectUri}?code=2`)
    expect((await result).get('code')).toBe('2')
  })

  it('answers only under its own host name (DNS rebinding)', async () => {
    const { redirectUri, result } = await wait()
    const { port } = new URL(redirectUri)
    for (const host of [`evil.example:${port}`, `localhost:${port}`, '127.0.0.1', `127.0.0.1:${Number(port) + 1}`]) {
      expect((await ask(`${redirectUri}?code=evil`, { host })).status).toBe(403)
    }
    await ask(`${redirectUri}?code=good`)
    expect((await result).get('code')).toBe('good')
  })

  it('listens on both addresses of localhost on request', async () => {
    const { redirectUri, result } = await wait({ host: 'localhost', path: '/oauth/done' })
    expect(redirectUri).toMatch(/^http:\/\/localhost:\d+\/oauth\/done$/)
    expect((await ask(redirectUri, { address: '127.0.0.1' })).status).toBe(400)
    const hasV6 = Object.values(networkInterfaces())
      .flat()
      .some((each) => each?.address === '::1')
    await ask(`${redirectUri}?code=1`, { address: hasV6 ? '::1' : '127.0.0.1' })
    expect((await result).get('code')).toBe('1')
    expect(await isGone(redirectUri)).toBe(true)
  })

  it.each(['0.0.0.0', '::', '192.168.0.1', 'as.example', '', 'localhost:80', '127.0.0.1/x', 'me@localhost'])(
    'refuses to listen on %j [AUTH-089]',
    async (host) => {
      await expect(waitForRedirect({ host })).rejects.toMatchObject({ code: 'invalid-argument' })
    },
  )

  it.each(['callback', '', '/a?b', '/a#b', '//evil.example', '/a b', '//['])('refuses %j as a path', async (path) => {
    await expect(waitForRedirect({ path })).rejects.toMatchObject({ code: 'invalid-argument' })
  })

  it('reports that the port is in use', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    await expect(waitForRedirect({ port })).rejects.toMatchObject({ code: 'listen-failed' })
  })

  it('stops on timeout, abort and close', async () => {
    const late = await wait({ timeoutMs: 20 })
    await expect(late.result).rejects.toMatchObject({ code: 'timeout', timeoutMs: 20 })
    const stop = new AbortController()
    const cancelled = await wait({ signal: stop.signal })
    stop.abort()
    await expect(cancelled.result).rejects.toMatchObject({ code: 'cancelled' })
    const closed = await wait()
    await closed.close()
    await expect(closed.result).rejects.toMatchObject({ code: 'closed' })
    for (const { redirectUri } of [late, cancelled, closed]) expect(await isGone(redirectUri)).toBe(true)
    await expect(waitForRedirect({ signal: stop.signal })).rejects.toThrow('aborted')
  })

  it('survives a check that throws', async () => {
    const { redirectUri, result } = await wait({
      expect: () => {
        throw new Error('careless')
      },
    })
    await ask(`${redirectUri}?code=1&state=s`).catch(() => {})
    await expect(result).rejects.toThrow('careless')
  })

  it('keeps the first outcome, whatever happens later', async () => {
    const stop = new AbortController()
    const received = await wait({ signal: stop.signal })
    await ask(`${received.redirectUri}?code=1`)
    stop.abort()
    await received.close()
    expect((await received.result).get('code')).toBe('1')
    const closed = await wait({ signal: stop.signal }).catch(() => undefined)
    expect(closed).toBeUndefined()
    const twice = await wait()
    await twice.close()
    await twice.close()
    await expect(twice.result).rejects.toMatchObject({ code: 'closed' })
  })

  it('is not interrupted while the page of the redirect is being sent', async () => {
    const stop = new AbortController()
    const { redirectUri, result } = await wait({
      signal: stop.signal,
      // Called while the request is answered. The result follows when the connection has closed.
      expect: () => {
        setImmediate(() => stop.abort())
        return true
      },
    })
    expect((await ask(`${redirectUri}?code=1`)).status).toBe(200)
    expect((await result).get('code')).toBe('1')
  })

  it('ignores a signal that aborts after the end, and leaves no listener on it', async () => {
    const stop = new AbortController()
    const removed: string[] = []
    const remove = stop.signal.removeEventListener.bind(stop.signal)
    stop.signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      removed.push(given[0])
      remove(...given)
    }
    const { close } = await wait({ signal: stop.signal })
    await close()
    expect(removed).toContain('abort')
  })

  it('is cancelled by a signal that aborts while it starts to listen', async () => {
    const stop = new AbortController()
    const starting = waitForRedirect({ signal: stop.signal })
    stop.abort(new Error('never mind'))
    const { result, redirectUri } = await starting
    await expect(result).rejects.toMatchObject({ code: 'cancelled', cause: { message: 'never mind' } })
    expect(await isGone(redirectUri)).toBe(true)
  })

  it('reports that the port of localhost is in use for IPv6, and frees the other [AUTH-089]', async () => {
    const hasV6 = Object.values(networkInterfaces())
      .flat()
      .some((each) => each?.address === '::1')
    if (!hasV6) return
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '::1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    await expect(waitForRedirect({ host: 'localhost', port })).rejects.toMatchObject({
      code: 'listen-failed',
      message: expect.stringContaining('Cannot listen for the redirect at ::1:'),
    })
    expect(await isGone(`http://127.0.0.1:${port}/callback`)).toBe(true)
  })

  it('listens on an IPv6 address', async () => {
    const hasV6 = Object.values(networkInterfaces())
      .flat()
      .some((each) => each?.address === '::1')
    if (!hasV6) return
    const { redirectUri, result } = await wait({ host: '::1' })
    expect(redirectUri).toMatch(/^http:\/\/\[::1\]:\d+\/callback$/)
    await ask(`${redirectUri}?code=1`)
    expect((await result).get('code')).toBe('1')
  })
})
