import type { Command } from 'commander'

/** A command as the help lists it. */
export interface CommandEntry {
  readonly name: string
  /** Its arguments: `<target> <tool> [key=value...]`. */
  readonly usage: string
  readonly summary: string
  /** Each command is one file, which is loaded only if it is needed: all of them take longer to load than most take to run. */
  load(): Promise<(program: Command) => void>
}

/** Commands that the help shows together. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly CommandEntry[]
}

/** All commands, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  {
    title: 'Use a server',
    commands: [
      {
        name: 'list',
        usage: '[kind] [target]',
        summary: 'show a server, or all configured ones',
        load: async () => (await import('./commands/list.ts')).registerList,
      },
      {
        name: 'info',
        usage: '<target>',
        summary: 'describe a server or a tool in full',
        load: async () => (await import('./commands/info.ts')).registerInfo,
      },
      {
        name: 'call',
        usage: '<target> <tool> [key=value...]',
        summary: 'call a tool and print its result',
        load: async () => (await import('./commands/call.ts')).registerCall,
      },
      {
        name: 'task',
        usage: '<target> <id>',
        summary: 'wait for a task, print its result',
        load: async () => (await import('./commands/task.ts')).registerTask,
      },
      {
        name: 'read',
        usage: '<target> <uri> [key=value...]',
        summary: 'read a resource',
        load: async () => (await import('./commands/read.ts')).registerRead,
      },
      {
        name: 'prompt',
        usage: '<target> <prompt> [key=value...]',
        summary: 'get the messages of a prompt',
        load: async () => (await import('./commands/prompt.ts')).registerPrompt,
      },
      {
        name: 'complete',
        usage: '<target> <name> <key=start>',
        summary: 'suggest values for an argument',
        load: async () => (await import('./commands/complete.ts')).registerComplete,
      },
      {
        name: 'watch',
        usage: '<target> [uri...]',
        summary: 'print changes and log messages',
        load: async () => (await import('./commands/watch.ts')).registerWatch,
      },
      {
        name: 'login',
        usage: '<url>',
        summary: 'log in to a server with OAuth',
        load: async () => (await import('./commands/login.ts')).registerLogin,
      },
      {
        name: 'logout',
        usage: '<url>',
        summary: 'forget the login of a server',
        load: async () => (await import('./commands/login.ts')).registerLogin,
      },
      {
        name: 'auth',
        usage: 'explain <url>',
        summary: 'show each step of a login',
        load: async () => (await import('./commands/auth.ts')).registerAuth,
      },
    ],
  },
  {
    title: 'Develop a server',
    commands: [
      {
        name: 'init',
        usage: '[folder]',
        summary: 'create a new server project',
        load: async () => (await import('./commands/init.ts')).registerInit,
      },
      {
        name: 'dev',
        usage: '<file> [args...]',
        summary: 'run a server, restart it on changes',
        load: async () => (await import('./commands/dev.ts')).registerDev,
      },
      {
        name: 'inspect',
        usage: '[target]',
        summary: 'see every message in a browser',
        load: async () => (await import('./commands/inspect.ts')).registerInspect,
      },
      {
        name: 'generate',
        usage: '<target>',
        summary: 'write a typed client for a server',
        load: async () => (await import('./commands/generate.ts')).registerGenerate,
      },
      {
        name: 'migrate',
        usage: '[path]',
        summary: 'rewrite a program of another SDK',
        load: async () => (await import('./commands/migrate.ts')).registerMigrate,
      },
    ],
  },
  {
    title: 'Check a server',
    commands: [
      {
        name: 'lint',
        usage: '<target>',
        summary: 'check names, descriptions and schemas',
        load: async () => (await import('./commands/lint.ts')).registerLint,
      },
      {
        name: 'test',
        usage: '<target>',
        summary: 'run conformance and safety checks',
        load: async () => (await import('./commands/test.ts')).registerTest,
      },
      {
        name: 'snapshot',
        usage: '<target>',
        summary: 'write what a server offers to a file',
        load: async () => (await import('./commands/snapshot.ts')).registerSnapshot,
      },
      {
        name: 'diff',
        usage: '<old> <new>',
        summary: 'compare two snapshots or servers',
        load: async () => (await import('./commands/diff.ts')).registerDiff,
      },
      {
        name: 'bench',
        usage: '<target>',
        summary: 'measure throughput, latency, memory',
        load: async () => (await import('./commands/bench.ts')).registerBench,
      },
    ],
  },
  {
    title: 'Host servers',
    commands: [
      {
        name: 'chat',
        usage: '[config|target]',
        summary: 'use servers yourself or with a model',
        load: async () => (await import('./commands/chat.ts')).registerChat,
      },
      {
        name: 'gateway',
        usage: '<config|target>',
        summary: 'serve many servers as one',
        load: async () => (await import('./commands/gateway.ts')).registerGateway,
      },
      {
        name: 'serve',
        usage: '<target>',
        summary: 'serve stdio over HTTP, or vice versa',
        load: async () => (await import('./commands/serve.ts')).registerServe,
      },
    ],
  },
  {
    title: 'Ship a server',
    commands: [
      {
        name: 'install',
        usage: '<target>',
        summary: 'add a server to the config of a host',
        load: async () => (await import('./commands/install.ts')).registerInstall,
      },
      {
        name: 'pack',
        usage: '[folder]',
        summary: 'make an .mcpb bundle and server.json',
        load: async () => (await import('./commands/pack.ts')).registerPack,
      },
    ],
  },
  {
    title: 'More',
    commands: [
      {
        name: 'completion',
        usage: '<bash|zsh|fish>',
        summary: 'complete commands in your shell',
        load: async () => (await import('./commands/completion.ts')).registerCompletion,
      },
    ],
  },
]

/** All commands by name. */
export const commandTable: ReadonlyMap<string, CommandEntry> = new Map(
  commandGroups.flatMap(({ commands }) => commands.map((entry) => [entry.name, entry])),
)
