// RFC 3492, with the parameters of IDNA.
const base = 36
const minThreshold = 1
const maxThreshold = 26
const skew = 38
const damp = 700
const firstBias = 72
const firstCode = 128

/** Encodes a label of a host name: `bücher` becomes `xn--bcher-kva`. ASCII stays as it is. */
export function encodePunycode(label: string): string {
  const codes = Array.from(label, (character) => character.codePointAt(0)!)
  const ascii = codes.filter((code) => code < firstCode)
  if (ascii.length === codes.length) return label
  let output = String.fromCharCode(...ascii) + (ascii.length > 0 ? '-' : '')
  let code = firstCode
  let delta = 0
  let bias = firstBias
  let handled = ascii.length
  while (handled < codes.length) {
    const next = Math.min(...codes.filter((other) => other >= code))
    delta += (next - code) * (handled + 1)
    code = next
    for (const other of codes) {
      if (other < code) delta++
      if (other !== code) continue
      output += encodeNumber(delta, bias)
      bias = adapt(delta, handled + 1, handled === ascii.length)
      delta = 0
      handled++
    }
    delta++
    code++
  }
  return `xn--${output}`
}

/** Decodes a label without its prefix `xn--`. Returns undefined if it is not valid. */
export function decodePunycode(encoded: string): string | undefined {
  const end = encoded.lastIndexOf('-')
  const codes = Array.from(encoded.slice(0, Math.max(end, 0)), (character) => character.charCodeAt(0))
  let code = firstCode
  let bias = firstBias
  let position = 0
  for (let index = end > 0 ? end + 1 : 0; index < encoded.length; ) {
    const before = position
    for (let weight = 1, step = base; ; step += base) {
      const digit = digits.indexOf(encoded[index++] ?? ' ')
      position += digit * weight
      if (digit === -1 || position > Number.MAX_SAFE_INTEGER) return undefined
      const threshold = thresholdOf(step, bias)
      if (digit < threshold) break
      weight *= base - threshold
    }
    const length = codes.length + 1
    bias = adapt(position - before, length, before === 0)
    code += Math.floor(position / length)
    position %= length
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined
    codes.splice(position++, 0, code)
  }
  return String.fromCodePoint(...codes)
}

const digits = 'abcdefghijklmnopqrstuvwxyz0123456789'

function encodeNumber(number: number, bias: number): string {
  let output = ''
  let rest = number
  for (let step = base; ; step += base) {
    const threshold = thresholdOf(step, bias)
    if (rest < threshold) return output + digits[rest]
    output += digits[threshold + ((rest - threshold) % (base - threshold))]
    rest = Math.floor((rest - threshold) / (base - threshold))
  }
}

function thresholdOf(step: number, bias: number): number {
  return Math.min(Math.max(step - bias, minThreshold), maxThreshold)
}

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? damp : 2))
  rest += Math.floor(rest / length)
  let steps = 0
  for (; rest > ((base - minThreshold) * maxThreshold) / 2; steps += base)
    rest = Math.floor(rest / (base - minThreshold))
  return steps + Math.floor(((base - minThreshold + 1) * rest) / (rest + skew))
}
