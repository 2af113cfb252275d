import { createHash } from 'node:crypto'
import type { AuthorizationRequest } from './authorization-requests.ts'
import { isDocumentAddress } from './clients.ts'
import { isLoopback } from './fetch-json.ts'
import type { Refusal, Reply } from './http.ts'

/** Where a person says who it is and what the client may do. Plain HTML: a form, no script. */
export function loginPage(request: AuthorizationRequest, ticket: string, users: readonly string[]): Reply {
  const { client, redirectUri, scope, resource } = request
  const name = client.client_name ?? client.client_id
  return page(
    200,
    `Let ${name} in?`,
    `<p><b>${escaped(name)}</b> asks for access${resource.length > 0 ? ` to ${listOf(resource)}` : ''}.</p>
<p>Its id is <code>${escaped(client.client_id)}</code>. Your answer goes to <strong>${escaped(new URL(redirectUri).host)}</strong>
(<code>${escaped(redirectUri)}</code>).</p>
${isUnprovable(request) ? `<p class="warning">Any program on this computer could claim to be this application. Go on only if you have just started it.</p>` : ''}
<form method="post">
<input type="hidden" name="ticket" value="${escaped(ticket)}">
<fieldset><legend>Log in as</legend>${users.map((user, index) => choice('radio', 'user', user, index === 0)).join('')}</fieldset>
${scope.length > 0 ? `<fieldset><legend>It may</legend>${scope.map((it) => choice('checkbox', 'scope', it, true)).join('')}</fieldset>` : ''}
<p><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>
<p><small>An authorization server for development: there are no passwords.</small></p>`,
  )
}

export function errorPage({ error, message, status }: Refusal): Reply {
  return page(
    status === 401 ? 400 : status,
    'This does not work',
    `<p>${escaped(message)}</p><p><code>${escaped(error)}</code></p>`,
  )
}

/** 2026-07-28 authorization security, localhost redirect URI risks: a document proves nothing about who listens here. */
function isUnprovable({ client }: AuthorizationRequest): boolean {
  return isDocumentAddress(client.client_id) && client.redirect_uris.every((uri) => isLoopback(new URL(uri).hostname))
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `<code>${escaped(name)}</code>`).join(', ')
}

function choice(type: string, name: string, value: string, isChecked: boolean): string {
  const mark = isChecked ? ' checked' : ''
  return `<label><input type="${type}" name="${name}" value="${escaped(value)}"${mark}> ${escaped(value)}</label>`
}

const style = `
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
code { overflow-wrap: anywhere }
fieldset { margin: 1rem 0; border: 1px solid #767676; border-radius: 6px }
label { display: block; padding: .25rem 0 }
button { font: inherit; padding: .5rem 1.5rem; border-radius: 6px; border: 1px solid #1d4ed8; background: #fff; color: #1d4ed8; cursor: pointer }
button[value="allow"] { background: #1d4ed8; color: #fff }
:focus-visible { outline: 3px solid #b45309; outline-offset: 2px }
.warning { border-left: 4px solid #b45309; padding-left: .75rem }
`
const styleHash = createHash('sha256').update(style).digest('base64')

function page(status: number, title: string, content: string): Reply {
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1>
${content}
</main></body>
</html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    // No form-action: browsers would apply it to the redirect to the client as well.
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  }
  return { status, headers, body }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign]!)
}
