/** Whether a tool name follows the specification, and what is wrong or unwise about it. */
export function validateToolName(name: string): { isValid: boolean; warnings: string[] } {
  if (name === '') return { isValid: false, warnings: ['Tool name cannot be empty'] }
  if (name.length > MAX_LENGTH) {
    const warning = `Tool name exceeds maximum length of ${MAX_LENGTH} characters (current: ${name.length})`
    return { isValid: false, warnings: [warning] }
  }
  const invalid = [...new Set(name)].filter((character) => !ALLOWED.test(character))
  const warnings = unwise.filter(({ pattern }) => pattern.test(name)).map(({ warning }) => warning)
  if (invalid.length > 0) {
    warnings.push(
      `Tool name contains invalid characters: ${invalid.map((character) => `"${character}"`).join(', ')}`,
      'Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)',
    )
  }
  return { isValid: invalid.length === 0, warnings }
}

/** Prints the warnings about a tool name, if there are any. */
export function issueToolNameWarning(name: string, warnings: string[]): void {
  if (warnings.length === 0) return
  console.warn(`Tool name validation warning for "${name}":`)
  for (const warning of warnings) console.warn(`  - ${warning}`)
  console.warn('Tool registration will proceed, but this may cause compatibility issues.')
  console.warn('Consider updating the tool name to conform to the MCP tool naming standard.')
  console.warn(`See SEP: Specify Format for Tool Names (${NAMING_STANDARD}) for more details.`)
}

/** Validates a tool name and prints what is wrong or unwise about it. Returns whether it is valid. */
export function validateAndWarnToolName(name: string): boolean {
  const { isValid, warnings } = validateToolName(name)
  issueToolNameWarning(name, warnings)
  return isValid
}

const MAX_LENGTH = 128
const ALLOWED = /[A-Za-z0-9._-]/
const NAMING_STANDARD = 'https://github.com/modelcontextprotocol/modelcontextprotocol/issues/986'

const unwise = [
  { pattern: / /, warning: 'Tool name contains spaces, which may cause parsing issues' },
  { pattern: /,/, warning: 'Tool name contains commas, which may cause parsing issues' },
  {
    pattern: /^-|-$/,
    warning: 'Tool name starts or ends with a dash, which may cause parsing issues in some contexts',
  },
  {
    pattern: /^\.|\.$/,
    warning: 'Tool name starts or ends with a dot, which may cause parsing issues in some contexts',
  },
]
