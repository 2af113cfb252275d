import { McpError } from '../../errors.ts'

/** Something wrong in a configuration. */
export interface ConfigProblem {
  /** The id of the server; undefined if it is about the whole configuration. */
  readonly server: string | undefined
  /** The member of the server, such as `args[1]` or `env.TOKEN`. */
  readonly member: string | undefined
  /** One or two sentences that start with a verb: `must be a string.` */
  readonly message: string
}

/** The most problems in one message. */
const maxLines = 100

/** A configuration is invalid. The message lists the problems; `problems` has them as data. */
export class ConfigError extends McpError {
  override name = 'ConfigError'
  declare readonly code: 'invalid-argument'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[], path: string | undefined) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    const lines = problems.slice(0, maxLines).map((problem) => `\n  ${describeProblem(problem)}`)
    if (problems.length > maxLines) lines.push(`\n  and ${problems.length - maxLines} more`)
    super('invalid-argument', `Invalid server configuration${path ? ` in ${path}` : ''}: ${count}.${lines.join('')}`)
    this.problems = problems
  }
}

/** Describes a problem in one line, such as `server "files", args[1] must be a string.` */
export function describeProblem({ server, member, message }: ConfigProblem): string {
  if (server === undefined) return message
  return `server ${JSON.stringify(server)}${member === undefined ? '' : `, ${member}`} ${message}`
}

/** Collects problems, so that all of them are reported together. */
export class Problems {
  readonly errors: ConfigProblem[] = []
  readonly warnings: ConfigProblem[] = []

  /** Adds an error about the whole configuration. */
  fail(message: string): void {
    this.errors.push({ server: undefined, member: undefined, message })
  }

  /** Adds a warning about the whole configuration. */
  warn(message: string): void {
    this.warnings.push({ server: undefined, member: undefined, message })
  }

  of(server: string): ServerProblems {
    return {
      fail: (member, message) => void this.errors.push({ server, member, message }),
      warn: (member, message) => void this.warnings.push({ server, member, message }),
    }
  }
}

/** Adds problems of one server. */
export interface ServerProblems {
  fail(member: string | undefined, message: string): void
  warn(member: string | undefined, message: string): void
}
