// Where a program answers otherwise on the drop-in packages than on the official ones, and why. An entry rewrites the answers of
// both before they are compared. An entry that changes nothing fails the test.

/** @type {{ program: string, why: string, rewrite(value: unknown): unknown }[]} */
export const differences = [
  {
    program: 'sentry',
    why: 'zod 3: a nullable string that is trimmed is described as ["string", "null"], which means the same as anyOf',
    rewrite: joinNullable,
  },
]

/** Writes `anyOf: [{ type }, { type: 'null' }]` as `type: [type, 'null']`, at every depth. */
function joinNullable(value) {
  if (Array.isArray(value)) return value.map(joinNullable)
  if (typeof value !== 'object' || value === null) return value
  const { anyOf, ...others } = value
  const members = Object.fromEntries(Object.entries(others).map(([key, member]) => [key, joinNullable(member)]))
  if (!Array.isArray(anyOf)) return members
  const isPlain = anyOf.length === 2 && anyOf.every((each) => Object.keys(each).join() === 'type')
  return isPlain && anyOf[1].type === 'null'
    ? { type: anyOf.map(({ type }) => type), ...members }
    : { anyOf: anyOf.map(joinNullable), ...members }
}
