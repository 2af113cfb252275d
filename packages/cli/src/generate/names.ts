/** Gives out names that are valid in code, and each only once. */
export class NameTable {
  readonly #taken: Set<string>

  /** @param reserved Names that already mean something. */
  constructor(reserved: Iterable<string> = []) {
    this.#taken = new Set(reserved)
  }

  /** Returns the wanted name, with a number behind it if it is taken. */
  take(wanted: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}${/\d$/.test(wanted) ? '_' : ''}${number}`
      if (this.#taken.has(name)) continue
      this.#taken.add(name)
      return name
    }
  }
}

/** `get-resource_links` becomes `getResourceLinks`. Only ASCII letters and digits are kept. */
export function toCamelCase(text: string, fallback: string): string {
  const name = toPascalCase(text, fallback)
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** `get-resource_links` becomes `GetResourceLinks`. */
export function toPascalCase(text: string, fallback: string): string {
  const name = wordsOf(text)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
  const safe = name === '' ? fallback : /^\d/.test(name) ? fallback + name : name
  return safe.charAt(0).toUpperCase() + safe.slice(1, maxLength)
}

/** `getResource_links` becomes `get-resource-links`. */
export function toKebabCase(text: string, fallback: string): string {
  const words = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  const name = wordsOf(words)
    .map((word) => word.toLowerCase())
    .join('-')
    .slice(0, maxLength)
  return name === '' ? fallback : name
}

const maxLength = 100

function wordsOf(text: string): string[] {
  return text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
}
