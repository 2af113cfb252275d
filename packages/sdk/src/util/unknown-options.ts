import { warnOnce } from './warn.ts'

/**
 * Warns about options that do not exist, because JavaScript does not find a typing error in a name.
 * @param where What has the options: `Tool "add"`.
 * @param known The names that exist. Typed by the options, so that none is forgotten.
 */
export function checkOptions<Options extends object>(
  where: string,
  options: object,
  known: Readonly<Record<keyof Required<Options>, 1>>,
): void {
  for (const name in options) {
    if (name in known || options[name as never] === undefined) continue
    const names = Object.keys(known)
    const near = names.find((each) => isNear(each, name))
    warnOnce(where + name, `${where}: unknown option "${name}". Did you mean ${near ?? names.join(', ')}?`)
  }
}

/** Whether names differ only in the middle, by up to two letters, or one begins with the other. */
export function isNear(a: string, b: string): boolean {
  a = a.toLowerCase()
  b = b.toLowerCase()
  let start = 0
  while (a[start] && a[start] === b[start]) start++
  let end = 0
  while (a.at(~end) === b.at(~end) && ++end < b.length - start);
  return start === b.length || Math.max(a.length, b.length) - start - end < 3
}
