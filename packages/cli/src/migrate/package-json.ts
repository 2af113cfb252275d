import { applyEdits, type JSONPath, modify, parse } from 'jsonc-parser'

const replaced = /^(@modelcontextprotocol\/(sdk|server|client|node|express|hono|core)|fastmcp)$/
const sections = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const

/**
 * Replaces the old packages in a `package.json` with `tenon`.
 * @param remaining Old packages that sources still import. They stay.
 * @returns The new text, or undefined if it does not change.
 */
export function migratePackageJson(text: string, remaining: ReadonlySet<string>, version: string): string | undefined {
  const json = parse(text) as Record<string, Record<string, string> | undefined> | undefined
  let after = text
  const edit = (path: JSONPath, value: unknown) => {
    const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize: /^ {4}"/m.test(text) ? 4 : 2 }
    after = applyEdits(after, modify(after, path, value, { formattingOptions }))
  }
  for (const section of sections) {
    const old = Object.keys(json?.[section] ?? {}).filter((name) => replaced.test(name))
    if (old.length === 0) continue
    if (json?.[section]?.tenon === undefined) edit([section, 'tenon'], `^${version}`)
    for (const name of old) if (!remaining.has(name)) edit([section, name], undefined)
  }
  return after === text ? undefined : after
}
