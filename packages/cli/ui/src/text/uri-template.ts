/** The names of the variables of a URI template (RFC 6570), in order. */
export function variablesOf(template: string): string[] {
  const names = [...template.matchAll(expression)].flatMap(([, , list = '']) => list.split(',').map(nameOf))
  return [...new Set(names)]
}

/** Fills in a URI template. Variables without a value are left out. */
export function expand(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(expression, (_, operator: string, list: string) => {
    const { first, separator, isNamed, isOpen } = operators[operator] ?? plain
    const encode = isOpen ? encodeURI : encodeURIComponent
    const parts = list
      .split(',')
      .map(nameOf)
      .filter((name) => (values[name] ?? '') !== '')
      .map((name) => (isNamed ? `${name}=${encode(values[name] ?? '')}` : encode(values[name] ?? '')))
    return parts.length === 0 ? '' : first + parts.join(separator)
  })
}

const expression = /\{([+#./;?&]?)([^{}]+)\}/g

interface Operator {
  readonly first: string
  readonly separator: string
  readonly isNamed: boolean
  /** Whether reserved characters stay as they are. */
  readonly isOpen: boolean
}

const plain: Operator = { first: '', separator: ',', isNamed: false, isOpen: false }

const operators: Readonly<Record<string, Operator>> = {
  '+': { ...plain, isOpen: true },
  '#': { ...plain, first: '#', isOpen: true },
  '.': { ...plain, first: '.', separator: '.' },
  '/': { ...plain, first: '/', separator: '/' },
  ';': { ...plain, first: ';', separator: ';', isNamed: true },
  '?': { ...plain, first: '?', separator: '&', isNamed: true },
  '&': { ...plain, first: '&', separator: '&', isNamed: true },
}

/** Without the modifiers `*` and `:3`. */
function nameOf(variable: string): string {
  return variable.replace(/\*$|:\d+$/, '').trim()
}
