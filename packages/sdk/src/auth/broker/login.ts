import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { Sealer } from '../../util/sealer.ts'
import { basePathOf, type EndpointRequest, type EndpointResponse, redirectResponse } from '../http.ts'
import { redirectBack, redirectUrl } from '../server/authorization-request.ts'
import type { AuthorizationRequest } from '../server/backend.ts'
import type { Route } from '../server/endpoints.ts'
import { OAuthError } from '../server/oauth-error.ts'
import { escapeHtml, Pages } from '../server/page.ts'
import { paramsOf } from '../server/params.ts'
import { randomToken } from '../server/random.ts'
import { type Binding, BrowserCookie } from './browser-cookie.ts'
import { consentPage, displayNameOf } from './consent-page.ts'
import type { EncryptedStore } from './encrypted-store.ts'
import type { Grants } from './grants.ts'
import type { BrokerSettings } from './options.ts'
import { PendingLogins } from './pending-logins.ts'
import { type Upstream, UpstreamDenied, type UpstreamFlow, type UpstreamLogin } from './upstream.ts'

/** The authorization request of a client, as passed from step to step. */
type LoginRequest = Omit<AuthorizationRequest, 'client'> & { readonly clientId: string; readonly clientName: string }

/** The hidden value of the consent form. */
interface ConsentForm {
  readonly binding: Binding
  readonly login: LoginRequest
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** A login while the user is at the provider. */
interface PendingLogin {
  readonly binding: Binding
  readonly login: LoginRequest
  readonly flow: UpstreamFlow
}

const stepTtlMs = 600_000
const consentPath = '/authorize/consent'

/** The login flow: from an authorization request to a code, by way of consent and the provider. */
export class Login {
  readonly #settings: BrokerSettings
  readonly #sealer: Sealer
  readonly #upstream: Upstream
  readonly #grants: Grants
  readonly #cookie: BrowserCookie
  readonly #pending: PendingLogins
  readonly #formPurpose: string
  readonly #pages: Pages

  constructor(settings: BrokerSettings, sealer: Sealer, store: EncryptedStore, upstream: Upstream, grants: Grants) {
    this.#settings = settings
    this.#sealer = sealer
    this.#upstream = upstream
    this.#grants = grants
    this.#cookie = new BrowserCookie(sealer, settings.issuer, stepTtlMs / 1_000)
    this.#pending = new PendingLogins(store, settings.maxPending, stepTtlMs)
    this.#formPurpose = `form of ${settings.issuer}`
    this.#pages = new Pages(settings.issuer)
  }

  get routes(): Record<string, Route> {
    return {
      [consentPath]: { methods: ['POST'], isPage: true, respond: (request) => this.#handleConsent(request) },
      [this.#settings.callbackPath]: {
        methods: ['GET'],
        isPage: true,
        respond: (request) => this.#handleCallback(request),
      },
    }
  }

  /** Shows the consent page for every request: an earlier consent does not cover this one. Nothing is stored yet. */
  async showConsent(request: AuthorizationRequest, httpRequest: EndpointRequest): Promise<EndpointResponse> {
    const { scopes, resource, resourceName, defaultScopes } = this.#settings
    const requested = { ...request, scopes: request.scopes.length > 0 ? request.scopes : defaultScopes }
    const { client, ...rest } = requested
    const login: LoginRequest = { ...rest, clientId: client.client_id, clientName: displayNameOf(client) }
    const binding = await newBinding(client.client_id, this.#cookie.freeSlot(httpRequest))
    const form: ConsentForm = { binding, login, expiresAt: clock.now() + stepTtlMs }
    return consentPage({
      request: requested,
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

  async #handleConsent(request: EndpointRequest): Promise<EndpointResponse> {
    if (!isFromOurPage(request, this.#settings.issuer)) {
      return this.#pages.error('The form was not sent by our own page.', 403)
    }
    const params = paramsOf(request)
    const form = (await this.#sealer.open(params.require('form'), this.#formPurpose)) as ConsentForm | undefined
    if (!form || form.expiresAt <= clock.now()) return this.#restartPage('This page has expired.')
    const { binding, login } = form
    if (!(await this.#cookie.matches(request, binding)))
      return this.#restartPage('This page was opened in another browser.')
    if (this.#pending.has(binding.id)) return this.#alreadySent()
    if (params.get('decision') === 'allow') return this.#allow(login, binding, request)
    // Nothing has to be stored: without the cookie, the form cannot be sent again.
    return redirectBack(login, accessDenied, this.#settings.issuer, this.#cookie.clear(binding))
  }

  /** Creates the `state` only after consent, and a new key for the browser (security best practices, confused deputy). */
  async #allow(login: LoginRequest, before: Binding, { peer }: EndpointRequest): Promise<EndpointResponse> {
    const started = await this.#upstream.begin().catch((error) => this.#providerFailed(error, login))
    if (!('flow' in started)) return started
    const { url, flow } = started
    const binding = { ...before, key: randomToken() }
    const pending: PendingLogin = { binding, login, flow }
    const isFirst = await this.#pending.begin(binding.id, await sha256(flow.state), pending, peer)
    if (!isFirst) return this.#alreadySent()
    return redirectResponse(url, await this.#cookie.set(binding))
  }

  async #handleCallback(request: EndpointRequest): Promise<EndpointResponse> {
    const state = paramsOf(request).get('state')
    const pending = state && (await this.#pending.finish<PendingLogin>(await sha256(state)))
    if (!pending) return this.#restartPage('This sign-in is unknown or already complete.')
    const { binding, login, flow } = pending
    if (!(await this.#cookie.matches(request, binding))) {
      return this.#restartPage('This sign-in was started in another browser.')
    }
    const query = new URLSearchParams(/\?([^#]*)/.exec(request.url)?.[1] ?? '')
    const result = await this.#upstream.complete(query, flow).catch((error) => this.#providerFailed(error, login))
    if (!('subject' in result)) return { ...result, headers: { ...result.headers, ...this.#cookie.clear(binding) } }
    return this.#finish(login, result, binding)
  }

  async #finish(login: LoginRequest, result: UpstreamLogin, binding: Binding): Promise<EndpointResponse> {
    const code = await this.#grants.createCode(login, login.clientId, result)
    return redirectBack(login, { code }, this.#settings.issuer, this.#cookie.clear(binding))
  }

  #alreadySent(): EndpointResponse {
    return this.#restartPage('This form has already been sent.')
  }

  #restartPage(reason: string): EndpointResponse {
    return this.#pages.error(`${reason} Go back to the application and start again.`)
  }

  /** Reports details of the provider only to the operator. Users get a page with a link back to the application. */
  #providerFailed(error: unknown, login: LoginRequest): EndpointResponse {
    const { issuer } = this.#settings
    if (error instanceof UpstreamDenied) {
      return redirectBack(login, accessDenied, issuer)
    }
    if (error instanceof OAuthError) throw error
    this.#settings.reportError(error)
    const response = { error: 'server_error', error_description: 'Sign-in failed.' }
    const back = escapeHtml(redirectUrl(login, response, issuer))
    const { name } = this.#upstream.provider
    const link = `<p><a href="${back}">Go back to ${escapeHtml(login.clientName)}</a></p>`
    return this.#pages.error(`Sign-in with ${name} failed.`, 502, link)
  }
}

const accessDenied = { error: 'access_denied', error_description: 'The user denied access.' }

async function newBinding(clientId: string, slot: number): Promise<Binding> {
  return { id: randomToken(96), slot, key: randomToken(), client: await sha256(clientId) }
}

/**
 * Returns whether a form was sent by our own page. Our pages send no referrer, so browsers send `null` as the origin, but also
 * `Sec-Fetch-Site: same-origin`. If a browser sends neither, the cookie and the form decide.
 */
function isFromOurPage(request: EndpointRequest, issuer: string): boolean {
  const site = request.header('sec-fetch-site')
  const origin = request.header('origin')
  if (site !== undefined) return site === 'same-origin' && (origin === undefined || isOwn(origin, issuer, 'null'))
  return origin === undefined || isOwn(origin, issuer)
}

function isOwn(origin: string, issuer: string, ...more: string[]): boolean {
  return origin === new URL(issuer).origin || more.includes(origin)
}
