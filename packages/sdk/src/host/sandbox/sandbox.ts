/** A program to start, with everything that it gets. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** All environment variables of the process. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

/** Confines a server process by changing how it is started, for example by running it in a container. */
export interface Sandbox {
  /** Returns what to start instead. Throws if the sandbox is not available on this machine. */
  wrap(launch: Launch): Launch | Promise<Launch>
}
