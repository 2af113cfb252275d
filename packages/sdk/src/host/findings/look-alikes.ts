import type { Finding } from './finding.ts'
import { toExcerpt } from './visible.ts'

/**
 * Writes a text with the letters that it looks like: letters of other scripts, full-width, mathematical and accented letters
 * become ASCII, invisible characters disappear. Two texts that look alike have the same skeleton.
 */
export function toSkeleton(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text
  const table = looks()
  const units = new Uint16Array(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    let look = code < 128 ? code : table[code]!
    if (look === supplementary) look = lookOfPair(code, text.charCodeAt(++index))
    if (look !== dropped) units[length++] = look === kept ? code : look
  }
  return toText(units.subarray(0, length))
}

/** Creates a text from UTF-16 code units. */
export function toText(units: Uint16Array): string {
  let text = ''
  for (let index = 0; index < units.length; index += 8_192) {
    text += String.fromCharCode.apply(null, units.subarray(index, index + 8_192) as unknown as number[])
  }
  return text
}

/** The skeleton of a name, in lower case and without separators; `1` and `0` look like `l` and `o`. */
export function nameSkeleton(name: string): string {
  return toSkeleton(name.slice(0, 256))
    .toLowerCase()
    .replace(/[\s_.\-/:]+/g, '')
    .replace(/[1|]/g, 'l')
    .replaceAll('0', 'o')
}

/** Checks a name of a tool, a prompt or an argument for letters that look like others. */
export function checkName(name: string, where: string): Finding[] {
  if (!/[^\0-\x7f]/.test(name)) return []
  const word = name
    .slice(0, 256)
    .match(/[\p{L}\p{M}\p{N}]+/gu)
    ?.find((part) => imitatesLatin(part, name))
  if (word === undefined) return []
  const message = `The name contains letters of another script that look like "${toExcerpt(toSkeleton(word), 60)}".`
  return [{ rule: 'look-alike', severity: 'high', where, message, excerpt: toExcerpt(name, 80) }]
}

/** Checks a text for words that mix Latin letters with letters of another script that look like Latin ones. */
export function checkWords(text: string, whereIs: (start: number, end: number) => string): Finding[] {
  if (!/[\u0370-\u052f\uff21-\uff5a]/.test(text)) return []
  // Short words such as `μs`, `Δt` and units are ordinary.
  for (const { 0: word, index } of text.matchAll(/[a-zA-Z\u0370-\u052f\uff21-\uff5a]{4,40}/g)) {
    if (!isMixed(word)) continue
    const message = `The word mixes letters of several scripts to look like "${toExcerpt(toSkeleton(word), 60)}".`
    const where = whereIs(index, index + word.length)
    return [{ rule: 'look-alike', severity: 'low', where, message, excerpt: toExcerpt(word, 80) }]
  }
  return []
}

function imitatesLatin(word: string, name: string): boolean {
  if (!/[^\0-\x7f]/.test(word) || !/^[\w-]+$/.test(toSkeleton(word))) return false
  // An accent is not a disguise, and a name in one script is a name in that language.
  if (/^[\p{Script=Latin}\p{M}\p{N}]+$/u.test(word)) return /[^\0-\u024f\u1e00-\u1eff]/.test(word)
  return /[a-zA-Z]/.test(name)
}

function isMixed(word: string): boolean {
  const latin = word.match(/[a-zA-Z]/g)?.length ?? 0
  return latin >= 2 && latin < word.length && /^[a-zA-Z]+$/.test(toSkeleton(word))
}

/** Values of the table that are not letters. */
const kept = 0
const dropped = 1
const supplementary = 2

let table: Uint16Array | undefined

function looks(): Uint16Array {
  table ??= createTable()
  return table
}

/** Letters of Cyrillic, Greek, Armenian, phonetic and Cherokee script, each followed by the letter that it looks like. */
const pairs =
  'аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwӏlкkмmтtвbнhгrпnьbёeїiғfԍgАAВBЕEКKМMНHОOРPСCТTХXУYІIЈJЅSЁEЇIԜWҮYҺhӀl' +
  'αaοoνvρpτtυuιiκkηnχxγyωwεeβbϲcϳjσoΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹC' +
  'ոnօoսuհhցgյjքfıiɑaɡgɩiʟLɪiʀRꓲIꞁlᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢz᎐.ᎪAᏴBᏟCᎬEᎻHᏦKᎷMᏢPᎡRᎢTᏙVᏃZ'

/** Ranges whose compatibility decomposition starts with an ASCII character. */
const decomposed = [
  [0xc0, 0x24f],
  [0x1d2c, 0x1d6a],
  [0x1e00, 0x1eff],
  [0x2070, 0x209c],
  [0x2100, 0x214f],
  [0x2460, 0x24ff],
  [0xff01, 0xff5e],
] as const

const invisible = [
  [0xad, 0xad],
  [0x300, 0x36f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180e],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
] as const

function createTable(): Uint16Array {
  const created = new Uint16Array(65_536)
  for (const [first, last] of decomposed) {
    for (let code = first; code <= last; code++) {
      const ascii = String.fromCharCode(code)
        .normalize('NFKD')
        .replace(/[^!-~]/g, '')
      if (ascii) created[code] = ascii.length > 2 ? ascii.charCodeAt(1) : ascii.charCodeAt(0)
    }
  }
  for (let index = 0; index < pairs.length; index += 2) created[pairs.charCodeAt(index)] = pairs.charCodeAt(index + 1)
  for (const [first, last] of invisible) created.fill(dropped, first, last + 1)
  for (const space of '\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000') {
    created[space.charCodeAt(0)] = 32
  }
  for (const quote of '‘’ʼ“”') created[quote.charCodeAt(0)] = 39
  // The planes of mathematical letters and of tag characters.
  created[0xd835] = supplementary
  created[0xdb40] = supplementary
  return created
}

/** Tag characters are invisible copies of ASCII; mathematical letters are ASCII in another style. */
function lookOfPair(high: number, low: number): number {
  if (high === 0xdb40) return low >= 0xdc20 && low < 0xdc7f ? low - 0xdc00 : dropped
  const letter = low - 0xdc00
  if (letter < 13 * 52) return letter % 52 < 26 ? 65 + (letter % 52) : 71 + (letter % 52)
  if (letter >= 0x3ce && letter < 0x400) return 48 + ((letter - 0x3ce) % 10)
  return dropped
}
