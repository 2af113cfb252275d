/** What programs put around the objects of an SDK. None of them has the `#private` members of what it stands for. */
export const wrappers: Readonly<Record<string, <T extends object>(held: T) => T>> = {
  'a Proxy': (held) => new Proxy(held, {}),
  'a Proxy with a get trap': (held) =>
    new Proxy(held, { get: (target, key, proxy) => Reflect.get(target, key, proxy) }),
  'Object.create': (held) => Object.create(held),
}

type Class = abstract new (...args: never[]) => object

/** Returns the names of all methods and accessors of a class and its base classes, without those that begin with `_`. */
export function membersOf({ prototype }: Class): string[] {
  const names = new Set<string>()
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    for (const name of Object.getOwnPropertyNames(each)) names.add(name)
  }
  names.delete('constructor')
  return [...names].filter((name) => !name.startsWith('_')).sort()
}

/** Returns the `#private` members of a class and its base classes. */
export function privateMembersOf(held: Class): string[] {
  const names: string[] = []
  for (let each: unknown = held; typeof each === 'function'; each = Object.getPrototypeOf(each)) {
    const source = Function.prototype.toString.call(each)
    if (source.startsWith('class')) names.push(...[...source.matchAll(/[.\s](#\w+)/g)].map(([, name]) => name!))
  }
  return [...new Set(names)]
}

/** What a call led to, in a form that can be compared. */
export async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    const value = await call()
    return { value: value === undefined ? 'undefined' : JSON.parse(JSON.stringify(value)) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}
