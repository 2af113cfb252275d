import { openBrowser } from 'tenon/auth/client'
import { safeLine } from 'tenon/internal'
import type { Output } from '../output.ts'

/** Opens the page in the browser of the user. If there is none, the user has the URL. */
export async function openPage(url: string, output: Output): Promise<void> {
  try {
    await openBrowser(url)
  } catch (error) {
    output.note(safeLine(`${error instanceof Error ? error.message : error} Open the URL yourself.`))
  }
}

/**
 * Opens the page when the user presses Enter in the terminal.
 * @returns A function that stops waiting.
 */
export function openOnKey(url: string, output: Output): () => void {
  const { stdin } = process
  if (!stdin.isTTY || !process.stderr.isTTY) return () => {}
  output.note('Press Enter to open the page in your browser, Ctrl-C to stop.')
  const onData = () => void openPage(url, output)
  stdin.on('data', onData)
  return () => {
    stdin.off('data', onData)
    stdin.pause()
  }
}
