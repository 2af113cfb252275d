import { isLoopbackUrl } from '../../net/addresses.ts'
import type { AuthReply } from '../http.ts'
import type { AuthorizationRequest } from '../server/backend.ts'
import type { OAuthClient } from '../server/client.ts'
import { isDocumentAddress } from '../server/client-documents.ts'
import { escaped, pageReply } from '../server/page.ts'
import { placeOf } from '../server/redirect-uris.ts'

export interface ConsentPage {
  readonly request: AuthorizationRequest
  /** What people read about each scope. */
  readonly scopes: ReadonlyMap<string, string>
  readonly resourceName: string
  readonly resource: string
  readonly providerName: string
  /** Where the answer goes. */
  readonly action: string
  /** Comes back with the answer. */
  readonly form: string
  readonly stylesheet: string
  /** The origin of the provider's page. */
  readonly providerOrigin: string
  readonly headers: Readonly<Record<string, string>>
}

/** What a person decides on: who asks, for what, and where the answer goes (security best practices, consent UI). */
export function consentPage(page: ConsentPage): AuthReply {
  const { request, scopes, resourceName, resource, providerName, action, form, stylesheet, headers } = page
  const { client, redirectUri } = request
  const name = nameOf(client)
  const content = `<p><strong>${escaped(name)}</strong> wants to use <code>${escaped(resource)}</code> in your name.</p>
${identityOf(client)}
${listOf(request.scopes, scopes)}
<h2>Your answer goes to</h2>
<p><strong>${escaped(placeOf(redirectUri))}</strong><br><code>${escaped(redirectUri)}</code></p>
${isOnThisComputer(redirectUri) ? localWarning : ''}
<form method="post" action="${escaped(action)}">
<input type="hidden" name="form" value="${escaped(form)}">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</form>
<p class="note">If you allow it, you sign in with ${escaped(providerName)} next. If you did not ask for this, deny it.</p>`
  const title = `Allow ${name} to use ${resourceName}?`
  return pageReply({ title, content, stylesheet, headers, formAction: formActionFor(redirectUri, page.providerOrigin) })
}

/** RFC 8252, 8.6: nothing proves which program listens on this machine, or has claimed a scheme. */
function isOnThisComputer(redirectUri: string): boolean {
  const url = new URL(redirectUri)
  return url.protocol !== 'https:' || isLoopbackUrl(url)
}

const localWarning =
  '<p class="warning">Any program on this computer could claim to be this application. Go on only if you have just started it.</p>'

/** Without what cannot be seen or turns the direction of text, which could make it look like another. */
export function nameOf({ client_name, client_id }: OAuthClient): string {
  const name = client_name?.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, '').trim()
  if (name) return name.length > 100 ? `${name.slice(0, 100)}…` : name
  return isDocumentAddress(client_id) ? new URL(client_id).host : 'An application without a name'
}

function identityOf({ client_id }: OAuthClient): string {
  if (isDocumentAddress(client_id)) {
    return `<p>It is described at <strong>${escaped(new URL(client_id).host)}</strong> (<code>${escaped(client_id)}</code>).</p>`
  }
  return '<p class="warning">The name was chosen by the application itself and is not verified.</p>'
}

function listOf(asked: readonly string[], scopes: ReadonlyMap<string, string>): string {
  if (asked.length === 0) return ''
  const items = asked.map((name) => `<li>${escaped(scopes.get(name) ?? name)} <code>${escaped(name)}</code></li>`)
  return `<h2>It will be able to</h2>\n<ul>${items.join('')}</ul>`
}

/**
 * Chrome holds every redirect that follows a form to `form-action`: to the provider, on to wherever people sign in from there,
 * back to us and to the client. Which hosts a provider leads over is not known, so all of https is allowed; besides it what
 * this client needs. Addresses of IPv6 cannot be written there, so that for them it has to be all of http.
 */
function formActionFor(redirectUri: string, providerOrigin: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri)
  const client = protocol === 'http:' ? (hostname.startsWith('[') ? 'http:' : origin) : protocol
  const provider = isLoopbackUrl(new URL(providerOrigin)) ? providerOrigin : 'https:'
  return [...new Set(["'self'", 'https:', provider, client])].join(' ')
}
