/** The media type of a `Content-Type` header in lowercase, without parameters; undefined if the header has none. */
export function mediaTypeEssence(header: string | null | undefined): string | undefined {
  const essence = header?.split(';', 1)[0]?.trim().toLowerCase()
  if (!header || !essence) return undefined
  // A comma outside a quoted parameter joins two headers. Which of them counts is ambiguous.
  const isJoined = header.slice(essence.length).includes(',') && !WELL_FORMED.test(header)
  return isJoined ? undefined : essence
}

/** Whether a `Content-Type` header means JSON, with or without parameters. */
export function isJsonContentType(header: string | null | undefined): boolean {
  return header === 'application/json' || mediaTypeEssence(header) === 'application/json'
}

// RFC 9110, sections 5.6.6 and 8.3.1.
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"'
const WELL_FORMED = new RegExp(`^\\s*${TOKEN}/${TOKEN}\\s*(?:;\\s*${TOKEN}=(?:${TOKEN}|${QUOTED})\\s*)*$`)
