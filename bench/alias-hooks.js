// Resolves the official packages to the drop-in packages, as an alias in package.json does.
const aliases = [
  [/^@modelcontextprotocol\/sdk\//, '@tenon/compat-v1/'],
  [/^@modelcontextprotocol\/(server|client|node)(?=\/|$)/, '@tenon/compat-v2-$1'],
]

export function resolve(specifier, context, next) {
  const aliased = aliases.reduce((name, [pattern, replacement]) => name.replace(pattern, replacement), specifier)
  return next(aliased, context)
}
