import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const packages = new URL('../../', import.meta.url)
const manifests = new Map<string, { dependencies?: Record<string, string> }>(
  readdirSync(packages).map((folder) => {
    const manifest = JSON.parse(readFileSync(new URL(`${folder}/package.json`, packages), 'utf8'))
    return [manifest.name, manifest]
  }),
)

/** Returns everything that an installation of one of our packages brings, as far as our packages say it. */
function installedBy(name: string): string[] {
  const direct = Object.keys(manifests.get(name)?.dependencies ?? {})
  return [...direct, ...direct.flatMap(installedBy)]
}

it.each(['server', 'client', 'node'])('@tenon/compat-v2-%s installs no web framework, as the official one', (name) => {
  const installed = installedBy(`@tenon/compat-v2-${name}`)
  expect(installed).toContain('tenon')
  expect(installed.filter((each) => /express|cors|hono/.test(each))).toEqual([])
})
