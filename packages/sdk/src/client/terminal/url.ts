import type { AskingServer, UrlQuestion, UrlResult } from '../handlers.ts'
import { heading } from './heading.ts'
import { wrap } from './layout.ts'
import { Left, type Prompt } from './prompt.ts'
import { safeLine } from './safe-text.ts'

/**
 * Shows a URL and asks for consent. It opens and fetches nothing (2025-11-25 client/elicitation, safe URL handling):
 * the person takes the URL to a browser, where neither this program nor a model can look on.
 */
export async function askUrl(prompt: Prompt, question: UrlQuestion, server: AskingServer): Promise<UrlResult> {
  show(prompt, question, server)
  for (;;) {
    const answer = (await prompt.ask('Do you agree to visit it? (yes / decline / cancel) > ')).toLowerCase()
    if (answer === 'y' || answer === 'yes') return { action: 'accept' }
    if (answer === 'd' || answer === 'decline' || answer === 'n' || answer === 'no') throw new Left('decline')
    if (answer === 'c' || answer === 'cancel') throw new Left('cancel')
    prompt.print('Please type yes, decline or cancel.')
  }
}

function show(prompt: Prompt, { message, url, warnings }: UrlQuestion, server: AskingServer): void {
  const { layout } = prompt
  const { paint, width } = layout
  prompt.print(
    ...heading('A server asks you to visit a page', server, message, layout),
    '',
    // In one piece, so that it can be copied, and never cut: what is agreed to is the whole of it.
    safeLine(url.href, Number.POSITIVE_INFINITY),
    '',
    `Host  ${paint.strong(safeLine(url.host, Number.POSITIVE_INFINITY) || 'none')}`,
    ...warnings.flatMap((warning) =>
      wrap(`Warning: ${safeLine(warning, 400)}`, width - 2).map((line, index) =>
        paint.warning(`${index === 0 ? '!' : ' '} ${line}`),
      ),
    ),
    'Nothing was opened. If you trust the host, copy the address to your browser.',
  )
}
