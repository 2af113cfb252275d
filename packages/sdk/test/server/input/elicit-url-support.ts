import type { Client, ElicitUrlRequest } from 'tenon/client'

export const page = 'https://login.example.com:8443/start?client=1&state=a%20b#here'
export const old = '2025-11-25'
export const onlyOld = { revisions: [old] as const }
export const complete = 'notifications/elicitation/complete'

/** Creates handlers that answer every URL elicitation with the same action, and records the requests. */
export function visiting(action: 'accept' | 'decline' | 'cancel' = 'accept') {
  const seen: ElicitUrlRequest[] = []
  const elicitUrl = (question: ElicitUrlRequest) => {
    seen.push(question)
    return { action }
  }
  return { seen, handlers: { elicitUrl } }
}

export function nextCompletion(client: Client): Promise<{ elicitationId: string }> {
  return new Promise((resolve) => client.on('elicitationComplete', resolve))
}
