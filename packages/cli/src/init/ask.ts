import { CliError, exitCodes } from '../exit-codes.ts'
import type { ProjectTransport } from './project-files.ts'

/** Asks for the folder of the new project. */
export async function askFolder(suggestion: string): Promise<string> {
  const { text } = await import('@clack/prompts')
  return answered(await text({ message: 'Folder?', defaultValue: suggestion, placeholder: suggestion, ...style }))
}

/** Asks how the server will be reached. */
export async function askTransport(): Promise<ProjectTransport> {
  const { select } = await import('@clack/prompts')
  const options: { value: ProjectTransport; label: string; hint: string }[] = [
    { value: 'stdio', label: 'stdio', hint: 'started by hosts such as Claude Desktop' },
    { value: 'http', label: 'HTTP', hint: 'runs on a server, reached by a URL' },
  ]
  return answered<ProjectTransport>(await select({ message: 'Transport?', options, ...style }))
}

const style = { output: process.stderr, withGuide: false }

function answered<T extends string>(value: T | symbol): T {
  if (typeof value !== 'symbol') return value
  throw new CliError('cancelled', 'Cancelled. Nothing was written.', { exitCode: exitCodes.interrupted })
}
