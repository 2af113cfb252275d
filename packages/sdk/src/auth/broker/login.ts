import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { Sealer } from '../../util/sealer.ts'
import { type AuthCall, type AuthReply, basePathOf, redirectTo } from '../http.ts'
import { sendBack, wayBackUrl } from '../server/authorization-request.ts'
import type { AuthorizationRequest } from '../server/backend.ts'
import type { Route } from '../server/endpoints.ts'
import { OAuthError } from '../server/oauth-error.ts'
import { escaped, Pages } from '../server/page.ts'
import { paramsOf } from '../server/params.ts'
import { randomText } from '../server/random.ts'
import { type Binding, BrowserCookie } from './browser-cookie.ts'
import { consentPage, nameOf } from './consent-page.ts'
import type { Vault } from './encrypted-store.ts'
import type { Grants } from './grants.ts'
import type { BrokerSettings } from './options.ts'
import { PendingLogins } from './pending-logins.ts'
import { type Upstream, UpstreamDenied, type UpstreamFlow, type UpstreamLogin } from './upstream.ts'

/** What a client asked for, as it is carried from step to step. */
type Asked = Omit<AuthorizationRequest, 'client'> & { readonly clientId: string; readonly clientName: string }

/** What the consent page brings back. */
interface Form {
  readonly binding: Binding
  readonly asked: Asked
  /** In milliseconds since 1970. */
  readonly until: number
}

/** A person on the way through the provider. */
interface OnTheWay {
  readonly binding: Binding
  readonly asked: Asked
  readonly flow: UpstreamFlow
}

const stepMs = 600_000
const consentPath = '/authorize/consent'

/** From a client's request to its code: consent, the provider, and back. */
export class Login {
  readonly #settings: BrokerSettings
  readonly #sealer: Sealer
  readonly #upstream: Upstream
  readonly #grants: Grants
  readonly #cookie: BrowserCookie
  readonly #pending: PendingLogins
  readonly #formPurpose: string
  readonly #pages: Pages

  constructor(settings: BrokerSettings, sealer: Sealer, vault: Vault, upstream: Upstream, grants: Grants) {
    this.#settings = settings
    this.#sealer = sealer
    this.#upstream = upstream
    this.#grants = grants
    this.#cookie = new BrowserCookie(sealer, settings.issuer, stepMs / 1_000)
    this.#pending = new PendingLogins(vault, settings.maxPending, stepMs)
    this.#formPurpose = `form of ${settings.issuer}`
    this.#pages = new Pages(settings.issuer)
  }

  get routes(): Record<string, Route> {
    return {
      [consentPath]: { methods: ['POST'], isPage: true, answer: (call) => this.#decide(call) },
      [this.#settings.callbackPath]: { methods: ['GET'], isPage: true, answer: (call) => this.#comeBack(call) },
    }
  }

  /** The page, each time: an answer that was given before says nothing about this request. Nothing is kept yet. */
  async ask(request: AuthorizationRequest, call: AuthCall): Promise<AuthReply> {
    const { scopes, resource, resourceName, defaultScopes } = this.#settings
    const wanted = { ...request, scopes: request.scopes.length > 0 ? request.scopes : defaultScopes }
    const { client, ...rest } = wanted
    const asked: Asked = { ...rest, clientId: client.client_id, clientName: nameOf(client) }
    const binding = await newBinding(client.client_id, this.#cookie.freeSlot(call))
    const form: Form = { binding, asked, until: clock.now() + stepMs }
    return consentPage({
      request: wanted,
      scopes,
      resource,
      resourceName,
      providerName: this.#upstream.provider.name,
      providerOrigin: new URL(this.#upstream.provider.issuer).origin,
      action: basePathOf(this.#settings.issuer) + consentPath,
      form: await this.#sealer.seal(form, this.#formPurpose),
      stylesheet: this.#pages.stylesheet,
      headers: await this.#cookie.set(binding),
    })
  }

  async #decide(call: AuthCall): Promise<AuthReply> {
    if (!isFromOurPage(call, this.#settings.issuer)) {
      return this.#pages.error('The answer did not come from our own page.', 403)
    }
    const params = paramsOf(call)
    const form = (await this.#sealer.open(params.need('form'), this.#formPurpose)) as Form | undefined
    if (!form || form.until <= clock.now()) return this.#startAgain('This page has waited too long.')
    const { binding, asked } = form
    if (!(await this.#cookie.isIn(call, binding))) return this.#startAgain('This page was opened in another browser.')
    if (this.#pending.has(binding.id)) return this.#answeredBefore()
    if (params.get('decision') === 'allow') return this.#allow(asked, binding, call)
    // Nothing is kept of a no: the browser loses the cookie without which the page is worth nothing.
    const answer = { error: 'access_denied', error_description: 'The user said no' }
    return sendBack(asked, answer, this.#settings.issuer, this.#cookie.clear(binding))
  }

  /** Only now there is a `state`, and the browser gets another key for it (security best practices, confused deputy). */
  async #allow(asked: Asked, before: Binding, { peer }: AuthCall): Promise<AuthReply> {
    const started = await this.#upstream.begin().catch((error) => this.#providerFailed(error, asked))
    if (!('flow' in started)) return started
    const { url, flow } = started
    const binding = { ...before, key: randomText() }
    const onTheWay: OnTheWay = { binding, asked, flow }
    const isFirst = await this.#pending.begin(binding.id, await sha256(flow.state), onTheWay, peer)
    if (!isFirst) return this.#answeredBefore()
    return redirectTo(url, await this.#cookie.set(binding))
  }

  async #comeBack(call: AuthCall): Promise<AuthReply> {
    const state = paramsOf(call).get('state')
    const onTheWay = state && (await this.#pending.finish<OnTheWay>(await sha256(state)))
    if (!onTheWay) return this.#startAgain('This sign-in is not known, or was finished before.')
    const { binding, asked, flow } = onTheWay
    if (!(await this.#cookie.isIn(call, binding))) {
      return this.#startAgain('This sign-in was started in another browser.')
    }
    const query = new URLSearchParams(/\?([^#]*)/.exec(call.url)?.[1] ?? '')
    const login = await this.#upstream.complete(query, flow).catch((error) => this.#providerFailed(error, asked))
    if (!('subject' in login)) return { ...login, headers: { ...login.headers, ...this.#cookie.clear(binding) } }
    return this.#finish(asked, login, binding)
  }

  async #finish(asked: Asked, login: UpstreamLogin, binding: Binding): Promise<AuthReply> {
    const code = await this.#grants.open(asked, asked.clientId, login)
    return sendBack(asked, { code }, this.#settings.issuer, this.#cookie.clear(binding))
  }

  #answeredBefore(): AuthReply {
    return this.#startAgain('This page was answered before.')
  }

  #startAgain(what: string): AuthReply {
    return this.#pages.error(`${what} Go back to the application and start again.`)
  }

  /** What the provider wrote is for the operator; people read our own words, and can go back to where they came from. */
  #providerFailed(error: unknown, asked: Asked): AuthReply {
    const { issuer } = this.#settings
    if (error instanceof UpstreamDenied) {
      return sendBack(asked, { error: 'access_denied', error_description: 'The user said no' }, issuer)
    }
    if (error instanceof OAuthError) throw error
    this.#settings.reportError(error)
    const answer = { error: 'server_error', error_description: 'Signing in did not work' }
    const back = escaped(wayBackUrl(asked, answer, issuer))
    const { name } = this.#upstream.provider
    const link = `<p><a href="${back}">Go back to ${escaped(asked.clientName)}</a></p>`
    return this.#pages.error(`Signing in with ${name} did not work.`, 502, link)
  }
}

async function newBinding(clientId: string, slot: number): Promise<Binding> {
  return { id: randomText(96), slot, key: randomText(), client: await sha256(clientId) }
}

/**
 * Whether a form was sent by a page of ours. Our pages send no referrer, and browsers then say `null` for their origin, but
 * they also say that it is the same site; where they say nothing, cookie and form decide.
 */
function isFromOurPage(call: AuthCall, issuer: string): boolean {
  const site = call.header('sec-fetch-site')
  const origin = call.header('origin')
  if (site !== undefined) return site === 'same-origin' && (origin === undefined || isOwn(origin, issuer, 'null'))
  return origin === undefined || isOwn(origin, issuer)
}

function isOwn(origin: string, issuer: string, ...more: string[]): boolean {
  return origin === new URL(issuer).origin || more.includes(origin)
}
