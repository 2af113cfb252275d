import { describe, expect, it, vi } from 'vitest'
import { authorizationContextOf, ClientConfig, type HttpClientOptions, parseUrl } from './config.ts'

const url = 'https://mcp.example/mcp?key=secret'
const config = (options: HttpClientOptions = {}) => new ClientConfig(url, options)
const headersOf = async (options: HttpClientOptions) => config(options).headers('POST', new URL(url))

describe('The URL of a server', () => {
  it.each([
    ['no url', 'Not a URL: "no url"'],
    ['ftp://mcp.example', 'Scheme not supported: ftp:'],
    ['https://user@mcp.example', 'contains a user name or password'],
    ['https://:password@mcp.example', 'contains a user name or password'],
  ])('is refused: %s', (text, message) => {
    expect(() => parseUrl(text)).toThrow(message)
  })

  it('is accepted with http: and https:, and named without its query', () => {
    expect(parseUrl('http://mcp.example/').href).toBe('http://mcp.example/')
    expect(config().name).toBe('https://mcp.example/mcp')
    const moved = config()
    moved.moveTo(new URL('https://mcp.example/v2'))
    expect([moved.name, moved.url.href]).toEqual(['https://mcp.example/v2', 'https://mcp.example/v2'])
  })
})

describe('The headers of a client', () => {
  it('come from an object, a list or a function, with names in lower case', async () => {
    const expected = { 'x-a': '1' }
    expect(await headersOf({ headers: { 'X-A': '1' } })).toEqual(expected)
    expect(await headersOf({ headers: new Headers({ 'X-A': '1' }) })).toEqual(expected)
    expect(await headersOf({ headers: async () => ({ 'X-A': '1' }) })).toEqual(expected)
    expect(await headersOf({})).toEqual({})
  })

  it('override those of requestInit, and are overridden by credentials', async () => {
    const requestInit = { headers: { 'X-A': 'init', 'X-B': 'init' } }
    expect(await headersOf({ requestInit, headers: { 'x-a': 'own' } })).toEqual({ 'x-a': 'own', 'x-b': 'init' })
    const auth = { headers: () => ({ authorization: 'Bearer new' }), onUnauthorized: async () => false }
    expect(await headersOf({ headers: { authorization: 'old', 'x-a': '1' }, auth })).toEqual({
      authorization: 'Bearer new',
      'x-a': '1',
    })
  })

  it('are in a new object each time', async () => {
    const fixed = config({ headers: { 'x-a': '1' } })
    const first = await fixed.headers('POST', fixed.url)
    first['x-b'] = '2'
    expect(await fixed.headers('POST', fixed.url)).toEqual({ 'x-a': '1' })
  })

  it('identify the authorization context, except those that differ between requests', () => {
    const context = authorizationContextOf({ b: '2', a: '1', dpop: 'x', traceparent: 'x', 'x-request-id': 'x' })
    expect(context).toBe(authorizationContextOf({ a: '1', b: '2', tracestate: 'y' }))
    expect(context).not.toBe(authorizationContextOf({ a: '1', b: '3' }))
  })
})

describe('ClientConfig', () => {
  it('refuses credentials that provide no token', () => {
    expect(() => config({ auth: {} as never })).toThrow('`auth` must provide a token')
  })

  it('passes its URL to a function that creates credentials', () => {
    const auth = { headers: () => ({}), onUnauthorized: async () => false }
    const create = vi.fn(() => auth)
    expect(config({ auth: create }).auth).toBe(auth)
    expect(create).toHaveBeenCalledWith(new URL(url))
  })

  it('has the delays of reconnect, else of reconnectionOptions, else defaults', () => {
    const reconnectionOptions = {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 2,
      reconnectionDelayGrowFactor: 3,
      maxRetries: 4,
    }
    const theirs = { initialDelayMs: 1, maxDelayMs: 2, growth: 3, maxRetries: 4 }
    expect(config({ reconnectionOptions }).backoff).toMatchObject(theirs)
    const reconnect = { initialDelayMs: 5, maxDelayMs: 6, growth: 7, maxRetries: 8 }
    expect(config({ reconnectionOptions, reconnect }).backoff).toMatchObject(reconnect)
    for (const value of Object.values({ ...config().backoff, jitter: 1 })) expect(value).toBeGreaterThan(0)
  })

  it('may carry credentials that it does not know with a custom fetch or with cookies', () => {
    expect(config().hidesCredentials).toBe(false)
    expect(config({ fetch: globalThis.fetch }).hidesCredentials).toBe(true)
    expect(config({ requestInit: { credentials: 'include' } }).hidesCredentials).toBe(true)
    expect(config({ requestInit: { credentials: 'same-origin' } }).hidesCredentials).toBe(false)
  })

  it('has no sender before it is opened and after it is closed', async () => {
    const made = config({ fetch: globalThis.fetch })
    expect(() => made.sender).toThrow('The transport is closed')
    await made.open()
    const { sender } = made
    await made.open()
    expect(made.sender).toBe(sender)
    made.close()
    expect(() => made.sender).toThrow('The transport is closed')
  })

  it('schedules with a timer that can be cancelled, or with the scheduler of the caller', () => {
    vi.useFakeTimers()
    try {
      const run = vi.fn()
      config().schedule(run, 1_000, 0)
      config().schedule(run, 1_000, 0)()
      config().schedule(run, 2 ** 40, 0)
      vi.advanceTimersByTime(1_000)
      expect(run).toHaveBeenCalledTimes(1)
      const cancel = vi.fn()
      const reconnectionScheduler = vi.fn(() => cancel)
      config({ reconnectionScheduler }).schedule(run, 5, 2)()
      expect(reconnectionScheduler).toHaveBeenCalledWith(run, 5, 2)
      expect(cancel).toHaveBeenCalledTimes(1)
      config({ reconnectionScheduler: () => {} }).schedule(run, 5, 2)()
    } finally {
      vi.useRealTimers()
    }
  })
})
