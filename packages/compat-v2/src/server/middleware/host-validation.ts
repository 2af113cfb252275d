import { refusalBody } from './refusal.ts'

export type HostHeaderValidationResult =
  | { ok: true; hostname: string }
  | {
      ok: false
      errorCode: 'missing_host' | 'invalid_host_header' | 'invalid_host'
      message: string
      hostHeader?: string
      hostname?: string
    }

/** Checks the `Host` header against names without ports. Protects local servers from DNS rebinding. */
export function validateHostHeader(
  hostHeader: string | null | undefined,
  allowedHostnames: string[],
): HostHeaderValidationResult {
  if (!hostHeader) return { ok: false, errorCode: 'missing_host', message: 'Missing Host header' }
  const url = `http://${hostHeader}`
  if (!URL.canParse(url)) {
    return { ok: false, errorCode: 'invalid_host_header', message: `Invalid Host header: ${hostHeader}`, hostHeader }
  }
  const { hostname } = new URL(url)
  if (allowedHostnames.includes(hostname)) return { ok: true, hostname }
  return { ok: false, errorCode: 'invalid_host', message: `Invalid Host: ${hostname}`, hostHeader, hostname }
}

/** The names of this machine. */
export function localhostAllowedHostnames(): string[] {
  return ['localhost', '127.0.0.1', '[::1]']
}

/** Returns the refusal of a request for another host; undefined if the request may pass. */
export function hostHeaderValidationResponse(req: Request, allowedHostnames: string[]): Response | undefined {
  const result = validateHostHeader(req.headers.get('host'), allowedHostnames)
  return result.ok ? undefined : Response.json(refusalBody(result.message), { status: 403 })
}
