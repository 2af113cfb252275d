import { basePathOf, type EndpointResponse } from '../http.ts'

export interface Page {
  /** Plain text. Used as the title and the heading. */
  readonly title: string
  /** HTML. Text from others must be escaped with `escapeHtml`. */
  readonly content: string
  /** The path of the stylesheet. */
  readonly stylesheet: string
  readonly status?: number | undefined
  /** The `form-action` of the Content Security Policy, which also applies to redirects after the form. Default: none. */
  readonly formAction?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Renders a page without scripts and inline styles that cannot be framed or cached. */
export function pageResponse({
  title,
  content,
  stylesheet,
  status = 200,
  formAction = "'none'",
  headers,
}: Page): EndpointResponse {
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${escapeHtml(stylesheet)}">
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`
  const policy = `default-src 'none'; style-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      ...headers,
    },
    body,
  }
}

/** The pages of one authorization server. */
export class Pages {
  readonly stylesheet: string

  constructor(baseUrl: string) {
    this.stylesheet = basePathOf(baseUrl) + stylesheetPath
  }

  /**
   * Renders an error page.
   * @param more HTML, as in `content`.
   */
  error(message: string, status = 400, more = '', headers: Readonly<Record<string, string>> = {}): EndpointResponse {
    const sentence = message.endsWith('.') ? message : `${message}.`
    const content = `<p>${escapeHtml(sentence)}</p>${more}`
    return pageResponse({ title: 'Sign-in failed', content, stylesheet: this.stylesheet, status, headers })
  }
}

export const stylesheetPath = '/authorize/style.css'

export function stylesheetResponse(): EndpointResponse {
  const headers = {
    'content-type': 'text/css; charset=utf-8',
    'cache-control': 'public, max-age=3600',
    'x-content-type-options': 'nosniff',
  }
  return { status: 200, headers, body: style }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}

const style = `:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --paper: #fcfcfd; --card: #fff; --edge: #d9d9e0;
  --act: #1d4ed8; --on-act: #fff; --warn: #b45309; --warn-paper: #fff7ed; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edeef0; --soft: #b0b4ba; --paper: #111113; --card: #18191b; --edge: #363a3f; --act: #8db3ff;
    --on-act: #0b1730; --warn: #ffb26b; --warn-paper: #2a1d0f; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; min-height: 100vh; display: grid; align-items: center; justify-items: center;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 34rem; padding: 2rem; background: var(--card); border: 1px solid var(--edge);
  border-radius: 12px; overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.25rem 0 .25rem; font-size: 1rem; }
p { margin: 0 0 .75rem; }
ul { margin: 0 0 .75rem; padding-left: 1.25rem; }
code { font-size: .875rem; color: var(--soft); }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: .5rem 1.5rem; font: inherit; font-weight: 600; cursor: pointer;
  border-radius: 8px; border: 1px solid var(--act); background: transparent; color: var(--act); }
button[value="allow"] { background: var(--act); color: var(--on-act); }
a { color: var(--act); }
:focus-visible { outline: 3px solid var(--warn); outline-offset: 2px; }
.warning { padding: .5rem .75rem; border-left: 4px solid var(--warn); background: var(--warn-paper); }
.note { margin: 1rem 0 0; color: var(--soft); font-size: .875rem; }
@media (max-width: 30rem) { main { padding: 1.25rem; } }
`
