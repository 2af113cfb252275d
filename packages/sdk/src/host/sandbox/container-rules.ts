import type { Finding } from '../findings/finding.ts'
import type { SimpleCommand } from './commands.ts'
import { mountSources, resolveSource, volumeSource } from './container-mounts.ts'
import { danger } from './danger.ts'
import { credentialFiles, isHome, isRuntimeSocket, isWholeDisk } from './sensitive-paths.ts'

const runtimes = new Set(['docker', 'podman', 'nerdctl'])

/** Finds options by which a container is not confined. */
export function containerRule({ program, args }: SimpleCommand): Finding[] {
  if (!runtimes.has(program)) return []
  return optionsOf(args).flatMap(([name, value]) => optionFinding(name, value) ?? [])
}

function optionFinding(name: string, value: string): Finding | undefined {
  if (name === '--privileged' && value !== 'false')
    return danger('high', 'The container has all rights on the machine (--privileged).', name)
  if (name === '-v' || name === '--volume') return mountFinding(volumeSource(value), value)
  if (name === '--mount') return first(mountSources(value).map((source) => mountFinding(source, value)))
  return name === '--env-file' ? environmentFinding(value) : hostFinding(name, value)
}

function hostFinding(name: string, value: string): Finding | undefined {
  const option = `${name}=${value}`
  if (/^--(?:pid|userns|ipc)=host$|^--security-opt=.*unconfined$/.test(option) || isBroadCapability(name, value))
    return danger('high', 'The container is not isolated from the machine.', option)
  if (/^--net(?:work)?=host$/.test(option))
    return danger('low', 'The container uses the network of the machine, including its local services.', option)
  return undefined
}

function isBroadCapability(name: string, value: string): boolean {
  return name === '--cap-add' && /^(?:CAP_)?(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|DAC_READ_SEARCH)$/i.test(value)
}

function first(findings: readonly (Finding | undefined)[]): Finding | undefined {
  return findings.find((finding) => finding !== undefined)
}

/** Every line of the file becomes a variable of the container. Files that are meant for that are not suspicious. */
function environmentFinding(value: string): Finding | undefined {
  const path = resolveSource(value)
  const secret = /(?:^|\/)[^/]*\.env(?:\.[^/]*)?$/i.test(path) ? undefined : credentialFiles(path)
  return secret === undefined ? undefined : danger('high', `The container gets ${secret} (--env-file).`, value)
}

function mountFinding(given: string, text: string): Finding | undefined {
  const source = resolveSource(given)
  if (isRuntimeSocket(source))
    return danger('high', 'The container controls the container runtime, so it controls the machine.', text)
  if (isWholeDisk(source)) return danger('high', 'The container can access the whole disk.', text)
  return isHome(source) ? danger('high', 'The container can access a whole home directory.', text) : undefined
}

/** Pairs of options and values, whether they are written as `--name value` or `--name=value`. */
function optionsOf(args: readonly string[]): [string, string][] {
  return args.flatMap((arg, index): [string, string][] => {
    if (!arg.startsWith('-')) return []
    const at = arg.indexOf('=')
    // `-v/:/host`: the value of an option of one letter may follow at once.
    if (arg.startsWith('-v') && arg.length > 2) return [['-v', arg.slice(2).replace(/^=/, '')]]
    if (at >= 0) return [[arg.slice(0, at), arg.slice(at + 1)]]
    return [[arg, args[index + 1] ?? '']]
  })
}
