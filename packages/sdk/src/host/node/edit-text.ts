import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpError } from '../../errors.ts'

/**
 * Lets the user edit a text in the editor of the environment (`VISUAL`, `EDITOR`). Only the user can read the file meanwhile.
 *
 * @returns The text that the user saved.
 */
export async function editText(text: string, signal: AbortSignal): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tenon-edit-'))
  try {
    const file = join(folder, 'sampling.txt')
    await writeFile(file, text, { mode: 0o600 })
    await runEditor(file, signal)
    return await readFile(file, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The variable may contain options, as in `code --wait`, so a shell reads it, as for other programs. */
function runEditor(file: string, signal: AbortSignal): Promise<void> {
  const { VISUAL, EDITOR } = process.env
  const editor = VISUAL || EDITOR || (process.platform === 'win32' ? 'notepad' : 'vi')
  return new Promise((resolve, reject) => {
    const child = spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit', signal })
    child.on('error', (error) => reject(failed(editor, error.message)))
    child.on('exit', (code) => (code === 0 ? resolve() : reject(failed(editor, `it ended with ${code}`))))
  })
}

function failed(editor: string, reason: string): McpError {
  return new McpError('invalid-argument', `The editor "${editor}" failed: ${reason}. Set EDITOR to another one.`)
}
