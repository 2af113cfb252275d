import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

const replaced = /^(@modelcontextprotocol\/(sdk|server|client|node|express|hono|core)|fastmcp)$/
const sections = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const

/**
 * Replaces the old packages in a `package.json` with `tenon`, in their place.
 * @param remaining Old packages that sources still import. They stay.
 * @returns The new text, or undefined if it does not change.
 */
export function migratePackageJson(text: string, remaining: ReadonlySet<string>, version: string): string | undefined {
  const root = parseTree(text)
  if (!root) return undefined
  let after = text
  // From the end, so that offsets stay valid.
  for (const section of [...sections].reverse()) {
    const node = findNodeAtLocation(root, [section])
    if (node?.type === 'object') after = migrateSection(after, node.children ?? [], remaining, version)
  }
  return after === text ? undefined : after
}

function migrateSection(
  text: string,
  properties: readonly Node[],
  remaining: ReadonlySet<string>,
  version: string,
): string {
  const nameOf = (property: Node) => String(property.children?.[0]?.value)
  const old = properties.filter((property) => replaced.test(nameOf(property)))
  let after = text
  let isAdded = properties.some((property) => nameOf(property) === 'tenon')
  const edits = old.map((property): [Node, string | undefined] => {
    const isKept = remaining.has(nameOf(property))
    const added = isAdded ? undefined : `"tenon": "^${version}"`
    isAdded = true
    const kept = text.slice(property.offset, property.offset + property.length)
    const separator = `,${/\s*$/.exec(text.slice(0, property.offset))![0]}`
    if (isKept) return [property, added === undefined ? kept : `${kept}${separator}${added}`]
    return [property, added]
  })
  for (const [property, replacement] of edits.reverse()) {
    after = replacement === undefined ? without(after, property) : splice(after, property, replacement)
  }
  return after
}

function splice(text: string, { offset, length }: Node, replacement: string): string {
  return text.slice(0, offset) + replacement + text.slice(offset + length)
}

/** Removes a property with its comma and line. */
function without(text: string, { offset, length }: Node): string {
  const before = text.slice(0, offset)
  const after = text.slice(offset + length)
  const comma = /^\s*,/.exec(after)
  if (comma) return before.replace(/\s*$/, '') + after.slice(comma[0].length)
  return before.replace(/,\s*$/, '') + after
}
