import { isLoopbackUrl } from '../../net/address-policy.ts'
import { safeLine } from '../../util/safe-text.ts'
import type { EndpointResponse } from '../http.ts'
import type { AuthorizationRequest } from '../server/backend.ts'
import type { OAuthClient } from '../server/client.ts'
import { isDocumentUrl } from '../server/client-documents.ts'
import { escapeHtml, pageResponse } from '../server/page.ts'
import { displayHostOf } from '../server/redirect-uris.ts'

export interface ConsentPage {
  readonly request: AuthorizationRequest
  /** The description of each scope. */
  readonly scopes: ReadonlyMap<string, string>
  readonly resourceName: string
  readonly resource: string
  readonly providerName: string
  /** The target of the form. */
  readonly action: string
  /** A hidden value of the form. */
  readonly form: string
  readonly stylesheet: string
  /** The origin of the provider's page. */
  readonly providerOrigin: string
  readonly headers: Readonly<Record<string, string>>
}

/** Asks the user for consent. Shows the client, its scopes and the redirect URI (security best practices, consent UI). */
export function consentPage(page: ConsentPage): EndpointResponse {
  const { request, scopes, resourceName, resource, providerName, action, form, stylesheet, headers } = page
  const { client, redirectUri } = request
  const name = displayNameOf(client)
  const content = `<p><strong>${escapeHtml(name)}</strong> wants to use <code>${escapeHtml(resource)}</code> on your behalf.</p>
${identityNotice(client)}
${scopeList(request.scopes, scopes)}
<h2>You will be redirected to</h2>
<p><strong>${escapeHtml(displayHostOf(redirectUri))}</strong><br><code>${escapeHtml(redirectUri)}</code></p>
${isOnThisComputer(redirectUri) ? localWarning : ''}
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="form" value="${escapeHtml(form)}">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</form>
<p class="note">If you allow this, you will sign in with ${escapeHtml(providerName)} next. If you did not start this, deny it.</p>`
  const title = `Allow ${name} to use ${resourceName}?`
  return pageResponse({
    title,
    content,
    stylesheet,
    headers,
    formAction: formActionFor(redirectUri, page.providerOrigin),
  })
}

/** RFC 8252, 8.6: nothing proves which program listens on this machine or has registered a scheme. */
function isOnThisComputer(redirectUri: string): boolean {
  const url = new URL(redirectUri)
  return url.protocol !== 'https:' || isLoopbackUrl(url)
}

const localWarning =
  '<p class="warning">Any program on this computer could claim to be this application. Continue only if you have just started it.</p>'

/** Invisible characters and those that change the text direction are shown: without them the name could be that of another. */
export function displayNameOf({ client_name, client_id }: OAuthClient): string {
  const name = client_name && safeLine(client_name, 100)
  if (name) return name
  return isDocumentUrl(client_id) ? new URL(client_id).host : 'An unnamed application'
}

function identityNotice({ client_id }: OAuthClient): string {
  if (isDocumentUrl(client_id)) {
    return `<p>Its metadata is published at <strong>${escapeHtml(new URL(client_id).host)}</strong> (<code>${escapeHtml(client_id)}</code>).</p>`
  }
  return '<p class="warning">The name was chosen by the application itself and is not verified.</p>'
}

function scopeList(requested: readonly string[], scopes: ReadonlyMap<string, string>): string {
  if (requested.length === 0) return ''
  const items = requested.map(
    (name) => `<li>${escapeHtml(scopes.get(name) ?? name)} <code>${escapeHtml(name)}</code></li>`,
  )
  return `<h2>It will be able to</h2>\n<ul>${items.join('')}</ul>`
}

/**
 * Chrome applies `form-action` to every redirect after a form: to the provider, to further sign-in pages, back to us and to
 * the client. The hosts of the provider's pages are unknown, so all of https is allowed, and whatever else this client
 * needs. IPv6 addresses cannot be written in a policy, so for them all of http is allowed.
 */
function formActionFor(redirectUri: string, providerOrigin: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri)
  const client = protocol === 'http:' ? (hostname.startsWith('[') ? 'http:' : origin) : protocol
  const provider = isLoopbackUrl(new URL(providerOrigin)) ? providerOrigin : 'https:'
  return [...new Set(["'self'", 'https:', provider, client])].join(' ')
}
