import { type AuthReply, basePathOf } from '../http.ts'

export interface Page {
  /** Plain text; also the heading. */
  readonly title: string
  /** HTML: whatever somebody else wrote in it has been `escaped`. */
  readonly content: string
  /** Where the stylesheet is. */
  readonly stylesheet: string
  readonly status?: number | undefined
  /** Where the form on it may lead, and the redirects after it, in the words of Content Security Policy. Default nowhere. */
  readonly formAction?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A page of an authorization server: no script, nothing inline, in no frame, kept by nobody. */
export function pageReply({
  title,
  content,
  stylesheet,
  status = 200,
  formAction = "'none'",
  headers,
}: Page): AuthReply {
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${escaped(stylesheet)}">
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
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

/** What the pages of one authorization server have in common. */
export class Pages {
  readonly stylesheet: string

  constructor(baseUrl: string) {
    this.stylesheet = basePathOf(baseUrl) + stylesheetPath
  }

  /**
   * Says in a sentence what went wrong.
   * @param more HTML, as in `content`.
   */
  error(message: string, status = 400, more = '', headers: Readonly<Record<string, string>> = {}): AuthReply {
    const content = `<p>${escaped(message)}</p>${more}`
    return pageReply({ title: 'This does not work', content, stylesheet: this.stylesheet, status, headers })
  }
}

export const stylesheetPath = '/authorize/style.css'

export function stylesheetReply(): AuthReply {
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

/** A text that somebody else wrote, for HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign]!)
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
