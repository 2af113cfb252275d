/** The pages that the browser shows after the redirect. */
export type PageKind = 'received' | 'failed' | 'unexpected' | 'unknown'

/** Renders a page. It contains no scripts and nothing from the request. */
export function renderPage(kind: PageKind): string {
  const { mark, title, text } = texts[kind]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
</head>
<body class="${kind}">
<main>
<p class="mark" aria-hidden="true">${mark}</p>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`
}

const texts: Record<PageKind, { mark: string; title: string; text: string }> = {
  received: {
    mark: '&#10003;',
    title: 'Authorization granted',
    text: 'You can close this window and go back to the application.',
  },
  failed: {
    mark: '&#33;',
    title: 'Authorization was not granted',
    text: 'The application has the details. You can close this window and go back to it.',
  },
  unexpected: {
    mark: '&#33;',
    title: 'Unexpected request',
    text: 'If you are signing in, go back to the application and start again.',
  },
  unknown: {
    mark: '&#33;',
    title: 'Page not found',
    text: 'If you are signing in, go back to the application and start again.',
  },
}

const style = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --paper: #fcfcfd; --good: #18794e; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edeef0; --soft: #b0b4ba; --paper: #18191b; --good: #3dd68c; --bad: #ff9592; }
}
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
main { padding: 2rem; max-width: 26rem; text-align: center; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; text-wrap: balance; }
p { margin: 0; color: var(--soft); text-wrap: balance; }
.mark { margin: 0 auto 1.25rem; width: 3rem; height: 3rem; border-radius: 50%; border: 2px solid; color: var(--bad);
  font-size: 1.5rem; line-height: 3rem; }
.received .mark { color: var(--good); }
`
