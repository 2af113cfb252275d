import type { Transcript } from 'tenon/testing'

/** A message of any kind as sent on the wire. */
export interface Said {
  id?: string | number | null
  method?: string
  params?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  result?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

export type Side = 'client' | 'server'

/** Returns all messages of one side, or those with the given method. */
export function said(transcript: Transcript, side: Side, method?: string): Said[] {
  const all = transcript.from(side) as Said[]
  return method === undefined ? all : all.filter((message) => message.method === method)
}

export function methodsOf(transcript: Transcript, side: Side): string[] {
  return said(transcript, side).flatMap(({ method }) => method ?? [])
}

/** Waits for the nth message with the given method; earlier messages count. */
export function heard(transcript: Transcript, side: Side, method: string, nth = 1): Promise<Said> {
  return new Promise((resolve) => {
    const look = () => {
      const found = said(transcript, side, method)[nth - 1]
      if (found) resolve(found)
    }
    look()
    transcript.onLine(look)
  })
}
