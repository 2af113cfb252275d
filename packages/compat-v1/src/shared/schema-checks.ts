/** Checks that the generated schemas use. */

/** An object or function, not null. */
export function isObject(value: unknown): value is object {
  return value !== null && (typeof value === 'object' || typeof value === 'function')
}

/** A string that `atob` decodes. */
export function isBase64(text: string): boolean {
  try {
    atob(text)
    return true
  } catch {
    return false
  }
}

/** An elicitation capability without modes means form elicitation, as before modes existed. */
export function formUnlessNamed(capability: unknown): unknown {
  const empty = isObject(capability) && !Array.isArray(capability) && Object.keys(capability).length === 0
  return empty ? { form: {} } : capability
}

/** Some clients send null where a field should be absent. */
export function nullToUndefined(value: unknown): unknown {
  return value ?? undefined
}

/** Adds an issue, and ends the check, unless a text is a URL that can be parsed. */
export function mustParse(text: string, context: IssueCollector): void {
  if (!URL.canParse(text)) context.addIssue({ code: 'custom', message: 'URL must be parseable', fatal: true })
}

interface IssueCollector {
  addIssue(issue: { code: 'custom'; message: string; fatal: boolean }): void
}

/** Whether following a URL cannot run a script. */
export function hasSafeScheme(url: string): boolean {
  return !['javascript:', 'data:', 'vbscript:'].includes(new URL(url).protocol)
}
