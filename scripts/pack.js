// Packs the published packages and prints the paths of the tarballs, so that a project can install from a clone:
//   npm install $(npm --prefix ../tenon run -s pack)
//
// With names, prints those packages and the ones they need:
//   npm install $(npm --prefix ../tenon run -s pack -- @tenon/compat-v1)
//
// With an official name in front, prints an alias for npm:
//   npm install $(npm --prefix ../tenon run -s pack -- @modelcontextprotocol/sdk=@tenon/compat-v1)
import { readFileSync } from 'node:fs'
import { packPackages } from './packages.js'

const packages = new Map(packPackages().map(({ name, path }) => [name, path]))
const dependencies = new Map(
  [...packages.keys()].map((name) => [name, ownDependencies(name.replace(/^@tenon\//, '').replace(/^tenon$/, 'sdk'))]),
)
const wanted = process.argv.slice(2)
const printed = new Set()
for (const each of wanted.length > 0 ? wanted : ['tenon', '@tenon/cli']) {
  const [name, alias] = each.split('=').reverse()
  if (!packages.has(name)) throw new Error(`No package ${name}; there are ${[...packages.keys()].join(', ')}`)
  for (const needed of dependencies.get(name)) printed.add(packages.get(needed))
  printed.add(alias ? `${alias}@file:${packages.get(name)}` : packages.get(name))
}
for (const line of printed) console.log(line)

/** Returns the names of our packages that a package needs, the innermost first. */
function ownDependencies(folder) {
  const manifest = JSON.parse(readFileSync(new URL(`../packages/${folder}/package.json`, import.meta.url), 'utf8'))
  return Object.keys(manifest.dependencies ?? {})
    .filter((name) => packages.has(name))
    .flatMap((name) => [...ownDependencies(name.replace(/^@tenon\//, '').replace(/^tenon$/, 'sdk')), name])
}
