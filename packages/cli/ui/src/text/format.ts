/** A duration: `0.4 ms`, `12 ms`, `1.5 s`, `2 min`. */
export function duration(ms: number): string {
  if (ms < 10) return `${Math.max(0, ms).toFixed(1)} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.round(ms / 60_000)} min`
}

/** A size: `120 B`, `3.4 KB`, `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** The size of what base64 text stands for. */
export function base64Size(base64: string): string {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return size(Math.max(0, Math.floor((base64.length * 3) / 4) - padding))
}

/** The time of day with milliseconds. */
export function clockTime(at: number): string {
  const date = new Date(at)
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0')
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
  return `${time}.${pad(date.getMilliseconds(), 3)}`
}

/** A number with its noun: `1 tool`, `5,000 tools`. */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${value.toLocaleString('en-US')} ${value === 1 ? noun : plural}`
}
