/** Describes what is suspicious about the URL of an elicitation (2025-11-25 elicitation, safe URL handling). */
export function urlWarnings(url: URL): string[] {
  const warnings: string[] = []
  if (url.protocol !== 'https:') warnings.push('The connection is not encrypted (http).')
  if (url.username !== '' || url.password !== '') {
    warnings.push(`The text before the @ is not part of the host. The host is ${url.hostname}.`)
  }
  if (url.hostname.split('.').some((label) => label.startsWith('xn--'))) {
    warnings.push('The host contains characters that can look like others (punycode).')
  }
  if (/^(\d+\.){3}\d+$|^\[/.test(url.hostname)) warnings.push('The host is an IP address.')
  if (url.port !== '') warnings.push(`The port is unusual (${url.port}).`)
  return warnings
}
