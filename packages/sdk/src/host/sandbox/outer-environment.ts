/** The variables of a confined process, by the way in which they reach it. */
export interface SplitEnvironment {
  /** The runner gets these as variables of its own and passes them on by name, because the values may be secrets. */
  readonly byName: Record<string, string>
  /** The runner gets these as arguments, because as variables they would change what the runner itself does. */
  readonly byValue: Record<string, string>
}

/**
 * Decides how the variables of a process reach it through the program that confines it. That program runs outside of the
 * sandbox, so a variable that loads a library or chooses another container service must not be one of its own.
 *
 * @param outer The environment of the program that confines. Variables with the same value there come from this machine, so
 *   the process does not need them.
 */
export function splitEnvironment(
  env: Readonly<Record<string, string>>,
  outer: Readonly<Record<string, string>>,
): SplitEnvironment {
  const split: SplitEnvironment = { byName: Object.create(null), byValue: Object.create(null) }
  for (const [name, value] of Object.entries(env)) {
    if (Object.hasOwn(outer, name) && outer[name] === value) continue
    const target = Object.hasOwn(outer, name) || steersRunner(name) ? split.byValue : split.byName
    target[name] = value
  }
  return split
}

/** `DOCKER_AUTH_CONFIG` is a secret, and it does no more than log in to pull the image. */
function steersRunner(name: string): boolean {
  return (
    name !== 'DOCKER_AUTH_CONFIG' && /^(?:LD_|DYLD_|GLIBC_|GODEBUG|DOCKER_|CONTAINERS?_|XDG_|PATH$|HOME$)/i.test(name)
  )
}
