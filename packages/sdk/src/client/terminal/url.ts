import { safeLine } from '../../util/safe-text.ts'
import type { ElicitUrlRequest, ElicitUrlResult, ServerIdentity } from '../input/handlers.ts'
import { heading } from './heading.ts'
import { wrap } from './layout.ts'
import { type Prompt, PromptAborted } from './prompt.ts'

/**
 * Shows a URL and asks for consent. It neither opens nor fetches the URL (2025-11-25 client/elicitation, safe URL handling):
 * the user opens it in a browser, where neither this program nor a model can see the page.
 */
export async function askUrl(
  prompt: Prompt,
  request: ElicitUrlRequest,
  server: ServerIdentity,
): Promise<ElicitUrlResult> {
  show(prompt, request, server)
  for (;;) {
    const answer = (await prompt.ask('Do you agree to open it? (yes / decline / cancel) > ')).toLowerCase()
    if (answer === 'y' || answer === 'yes') return { action: 'accept' }
    if (answer === 'd' || answer === 'decline' || answer === 'n' || answer === 'no') throw new PromptAborted('decline')
    if (answer === 'c' || answer === 'cancel') throw new PromptAborted('cancel')
    prompt.print('Please type yes, decline or cancel.')
  }
}

function show(prompt: Prompt, { message, url, warnings }: ElicitUrlRequest, server: ServerIdentity): void {
  const { layout } = prompt
  const { paint, width } = layout
  prompt.print(
    ...heading('A server asks you to open a URL', server, message, layout),
    '',
    // On one line, so that it can be copied, and never cut: the user agrees to the whole URL.
    safeLine(url.href, Number.POSITIVE_INFINITY),
    '',
    `Host  ${paint.strong(safeLine(url.host, Number.POSITIVE_INFINITY) || 'none')}`,
    ...warnings.flatMap((warning) =>
      wrap(`Warning: ${safeLine(warning, 400)}`, width - 2).map((line, index) =>
        paint.warning(`${index === 0 ? '!' : ' '} ${line}`),
      ),
    ),
    'The URL was not opened. If you trust the host, copy it to your browser.',
  )
}
