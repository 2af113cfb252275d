import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NodeProcess } from '../../sdk/test/kit/child-process.ts'

/** The built command line. `npm test` builds it first. */
export const program = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** The path of a fixture. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
}

/** An empty folder that is also the home directory and config folder of the programs in it. */
export class Workspace {
  readonly path = mkdtempSync(join(tmpdir(), 'tenon-cli-'))

  /** The environment without settings of the developer. */
  get env(): Record<string, string> {
    const { PATH = '' } = process.env
    return { PATH, HOME: this.path, XDG_CONFIG_HOME: join(this.path, '.config') }
  }

  file(name: string): string {
    return join(this.path, name)
  }

  write(name: string, content: unknown): string {
    const path = this.file(name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  /** Writes a config file whose servers run the fixture `notes.js`. */
  writeConfig(ids: readonly string[], name = 'mcp.json'): string {
    const entry = { command: process.execPath, args: [fixture('notes.js')] }
    return this.write(name, { mcpServers: Object.fromEntries(ids.map((id) => [id, entry])) })
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): NodeProcess {
    return new NodeProcess([program, ...args], { cwd: this.path, env: { ...this.env, ...env } })
  }

  /** Runs the command line to its end, with a pipe as stdin. */
  async run(args: readonly string[], { input = '', env = {} }: RunOptions = {}): Promise<Finished> {
    await using child = this.start(args, env)
    child.child.stdin?.end(input)
    const { code } = await child.exited
    return { code, stdout: child.stdout, stderr: child.stderr }
  }

  /** Runs the command line in a folder of the workspace. */
  async runIn(folder: string, args: readonly string[]): Promise<Finished> {
    await using child = new NodeProcess([program, ...args], { cwd: this.file(folder), env: this.env })
    child.child.stdin?.end()
    const { code } = await child.exited
    return { code, stdout: child.stdout, stderr: child.stderr }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

export interface RunOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The length of the longest line, in characters. */
export function longestLine(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length))
}
