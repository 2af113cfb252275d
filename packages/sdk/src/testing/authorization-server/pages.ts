import { createHash } from 'node:crypto'
import type { EndpointResponse } from '../../auth/http.ts'
import { isDocumentUrl } from '../../auth/server/client-documents.ts'
import type { OAuthError } from '../../auth/server/oauth-error.ts'
import { escapeHtml } from '../../auth/server/page.ts'
import { isLoopbackRedirect } from '../../auth/server/redirect-uris.ts'
import type { AuthorizationRequest } from './authorization-requests.ts'

/** The page where the user logs in and decides what the client may do. Plain HTML: a form, no script. */
export function loginPage(request: AuthorizationRequest, ticket: string, users: readonly string[]): EndpointResponse {
  const { client, redirectUri, scope, resource } = request
  const name = client.client_name ?? client.client_id
  return page(
    200,
    `Let ${name} in?`,
    `<p><b>${escapeHtml(name)}</b> asks for access${resource.length > 0 ? ` to ${listOf(resource)}` : ''}.</p>
<dl>
<dt>Its id</dt><dd><code>${escapeHtml(client.client_id)}</code></dd>
<dt>Your answer goes to</dt><dd><strong>${escapeHtml(new URL(redirectUri).host)}</strong><br><code>${escapeHtml(redirectUri)}</code></dd>
</dl>
${isUnprovable(request) ? `<p class="warning">Any program on this computer could claim to be this application. Go on only if you have just started it.</p>` : ''}
<form method="post">
<input type="hidden" name="ticket" value="${escapeHtml(ticket)}">
<fieldset><legend>Log in as</legend>${users.map((user, index) => choice('radio', 'user', user, index === 0)).join('')}</fieldset>
${scope.length > 0 ? `<fieldset><legend>It may</legend>${scope.map((it) => choice('checkbox', 'scope', it, true)).join('')}</fieldset>` : ''}
<p class="answers"><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>
<p class="note">An authorization server for development: there are no passwords.</p>`,
  )
}

export function errorPage({ errorCode, message, status }: OAuthError): EndpointResponse {
  return page(
    status === 401 ? 400 : status,
    'Authorization failed',
    `<p>${escapeHtml(message)}</p><p class="note"><code>${escapeHtml(errorCode)}</code></p>`,
  )
}

/** 2026-07-28 authorization security, localhost redirect URI risks: a document does not prove which program listens. */
function isUnprovable({ client, redirectUri }: AuthorizationRequest): boolean {
  return isDocumentUrl(client.client_id) && isLoopbackRedirect(redirectUri)
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `<code>${escapeHtml(name)}</code>`).join(', ')
}

function choice(type: string, name: string, value: string, isChecked: boolean): string {
  const mark = isChecked ? ' checked' : ''
  return `<label><input type="${type}" name="${name}" value="${escapeHtml(value)}"${mark}> ${escapeHtml(value)}</label>`
}

const style = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --paper: #fcfcfd; --card: #fff; --line: #8b8d98; --edge: #e0e1e6;
  --act: #1d4ed8; --on-act: #fff; --warn: #b45309 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edeef0; --soft: #b0b4ba; --paper: #111113; --card: #18191b; --line: #777b84; --edge: #2e3135;
    --act: #8db3ff; --on-act: #0b1730; --warn: #ffb26b }
}
* { box-sizing: border-box }
body { margin: 0; padding: 1rem; min-height: 100vh; display: grid; align-items: center; justify-items: center; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 34rem; padding: 2rem; background: var(--card); border: 1px solid var(--edge); border-radius: 12px }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
code { font-size: .9em; overflow-wrap: anywhere }
dl { margin: 0 0 1rem }
dt { color: var(--soft); font-size: .875rem }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere }
fieldset { margin: 0 0 1rem; padding: .25rem .75rem .5rem; min-width: 0; border: 1px solid var(--line); border-radius: 8px }
legend { padding: 0 .25rem; font-weight: 600 }
label { display: flex; align-items: center; gap: .625rem; padding: .375rem 0; overflow-wrap: anywhere }
input { margin: 0; width: 1.125rem; height: 1.125rem; flex: none; accent-color: var(--act) }
.answers { display: flex; flex-wrap: wrap; gap: .75rem }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: .5rem 1.5rem; font: inherit; font-weight: 600; border-radius: 8px;
  border: 1px solid var(--act); background: transparent; color: var(--act); cursor: pointer }
button[value="allow"] { background: var(--act); color: var(--on-act) }
:focus-visible { outline: 3px solid var(--warn); outline-offset: 2px }
.warning { border-left: 4px solid var(--warn); padding-left: .75rem }
.note { margin: 0; color: var(--soft); font-size: .875rem }
@media (max-width: 30rem) { main { padding: 1.25rem } }
`
const styleHash = createHash('sha256').update(style).digest('base64')

function page(status: number, title: string, content: string): EndpointResponse {
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${content}
</main></body>
</html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    // No form-action: browsers would also apply it to the redirect to the client.
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  }
  return { status, headers, body }
}
