/** What is suspicious about a page that a server wants a user to visit (2025-11-25 elicitation, safe URL handling). */
export function urlWarnings(url: URL): string[] {
  const warnings: string[] = []
  if (url.protocol !== 'https:') warnings.push('The connection is not encrypted (http).')
  if (url.username !== '' || url.password !== '') {
    warnings.push(`What stands before the @ is no part of the host; the host is ${url.hostname}.`)
  }
  if (url.hostname.split('.').some((label) => label.startsWith('xn--'))) {
    warnings.push('The host is written with letters that can look like others (punycode).')
  }
  if (/^(\d+\.){3}\d+$|^\[/.test(url.hostname)) warnings.push('The host is a number and has no name.')
  if (url.port !== '') warnings.push(`The port is unusual (${url.port}).`)
  return warnings
}
