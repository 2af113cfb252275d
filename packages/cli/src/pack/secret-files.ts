import { readFileSync, statSync } from 'node:fs'
import { redactSecrets } from 'tenon/host'
import { Problems } from './problems.ts'
import type { BundleFile } from './select-files.ts'

/** Throws if a file is a secret by its name, or contains one: a bundle is public. */
export function refuseSecrets(files: readonly BundleFile[]): void {
  const problems = new Problems()
  for (const file of files) {
    const reason = secretName(file) ?? secretContent(file)
    if (reason !== undefined) problems.add(`${file.path} (${reason})`)
  }
  problems.throwIfAny('Secrets must not be packed', 'Leave them out with "files" in package.json, or in .mcpbignore.')
}

const names: readonly (readonly [RegExp, string])[] = [
  [/^\.env(?!\.(?:example|sample|template)$)(?:\.|$)/, 'environment variables'],
  [/^\.(?:npmrc|netrc|pypirc|htpasswd)$/, 'credentials'],
  [/^id_(?:rsa|dsa|ecdsa|ed25519)$/, 'private key'],
  [/\.(?:pem|key|p12|pfx|jks|keystore|kdbx)$/i, 'key or certificate'],
  [/^(?:credentials|service[-_]account.*|secrets?)\.(?:json|ya?ml|toml)$/i, 'credentials'],
]

function secretName({ path, isDependency }: BundleFile): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  // Packages have certificates for their tests, so only the first ones count there.
  return names.slice(0, isDependency ? 2 : undefined).find(([pattern]) => pattern.test(name))?.[1]
}

const maxBytes = 2_000_000

function secretContent({ source, isDependency }: BundleFile): string | undefined {
  if (isDependency || statSync(source).size > maxBytes) return undefined
  const text = readFileSync(source, 'utf8')
  if (text.includes('\0')) return undefined
  const redacted = String(redactSecrets(text))
  if (redacted === text) return undefined
  return /\[redacted ([^\]]+)\]/.exec(redacted)?.[1] ?? 'secret'
}
