import type { TracedHttpRequest, TracedHttpResponse, TraceEvent } from '../protocol/trace.ts'
import { define, isObject, type JsonObject } from '../util/objects.ts'
import { isSecretName } from '../util/secret-names.ts'
import { redactSecrets } from './findings/secrets.ts'

/**
 * Copies an event of `trace` without secrets: tokens, codes, client secrets, cookies, session ids and keys in headers, URLs, bodies, messages
 * and stderr become `[redacted]`.
 *
 * @example
 * await connect(url, { trace: (event) => console.error(redactTraceEvent(event)) })
 */
export function redactTraceEvent<E extends TraceEvent>(event: E): E
export function redactTraceEvent(event: TraceEvent): TraceEvent {
  switch (event.type) {
    case 'message':
      return { ...event, message: redactSecrets(event.message) }
    case 'fault':
      return { ...event, problem: redactString(event.problem) }
    case 'stderr':
      return { ...event, text: redactString(event.text) }
    case 'http-request':
    case 'http-response':
      return redactHttp(event)
    case 'http-end':
      return event.error === undefined ? event : { ...event, error: redactString(event.error) }
  }
}

const redacted = '[redacted]'

/** Parameters of OAuth, and of signed URLs, whose names do not say that they are secret. */
const secretParameters: ReadonlySet<string> = new Set([
  'assertion',
  'client_assertion',
  'code',
  'code_verifier',
  'device_code',
  'id_token_hint',
  'key',
  'request_uri',
  'sig',
  'signature',
  'state',
  'user_code',
])

/** Names of headers that contain one of these words, and that are not in `publicHeaders`. */
const secretHeader = /auth|cookie|session|token|secret|key|password|credential|signature|^dpop$/
const publicHeaders: ReadonlySet<string> = new Set(['www-authenticate', 'proxy-authenticate', 'idempotency-key'])
const urlHeaders: ReadonlySet<string> = new Set(['location', 'content-location', 'referer'])

function redactHttp<E extends TracedHttpRequest | TracedHttpResponse>(event: E): E {
  const headers = Object.entries(event.headers).map(([name, value]) => [name, redactHeader(name, value)])
  const body = event.body === undefined ? {} : { body: redactBody(event.body, event.headers['content-type']) }
  return { ...event, url: redactUrl(event.url), headers: Object.fromEntries(headers), ...body }
}

/** The scheme stays, because it explains failures: `Bearer [redacted]`. */
function redactHeader(name: string, value: string): string {
  if (urlHeaders.has(name)) return redactUrl(value)
  if (publicHeaders.has(name) || !secretHeader.test(name)) return redactString(value)
  const [, scheme] = /^(basic|bearer|dpop) /i.exec(value) ?? []
  return scheme === undefined ? redacted : `${scheme} ${redacted}`
}

function redactUrl(text: string): string {
  const [, base = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(text) ?? []
  const parts = [query, fragment].map((part) => part && part[0] + redactForm(part.slice(1)))
  return redactString(base.replace(/^(\w+:\/\/)[^/@]*@/, `$1${redacted}@`)) + parts.join('')
}

/** Replaces values in `name=value&name=value`, and leaves everything else as it was written. */
function redactForm(text: string): string {
  return text
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=')
      const name = decode(at === -1 ? pair : pair.slice(0, at))
      return at !== -1 && isSecret(name) ? `${pair.slice(0, at)}=${redacted}` : redactString(pair)
    })
    .join('&')
}

function redactBody(body: string, type = ''): string {
  if (type.startsWith('application/x-www-form-urlencoded')) return redactForm(body)
  try {
    return JSON.stringify(redactMembers(JSON.parse(body)))
  } catch {
    return redactString(body)
  }
}

function redactMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactMembers)
  if (!isObject(value)) return typeof value === 'string' ? redactString(value) : value
  const copy: JsonObject = {}
  for (const name of Object.keys(value)) {
    define(copy, name, isSecret(name) && isFilled(value[name]) ? redacted : redactMembers(value[name]))
  }
  return copy
}

function isSecret(name: string): boolean {
  return isSecretName(name) || secretParameters.has(name.toLowerCase())
}

function isFilled(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number'
}

function redactString(text: string): string {
  return String(redactSecrets(text))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
