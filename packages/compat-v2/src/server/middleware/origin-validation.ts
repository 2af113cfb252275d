import { refusalBody } from './refusal.ts'

export type OriginValidationResult =
  | { ok: true; origin?: string; hostname?: string }
  | {
      ok: false
      errorCode: 'invalid_origin_header' | 'invalid_origin'
      message: string
      originHeader?: string
      hostname?: string
    }

/** Checks the `Origin` header against host names. Requests without one do not come from a web page and may pass. */
export function validateOriginHeader(
  originHeader: string | null | undefined,
  allowedOriginHostnames: string[],
): OriginValidationResult {
  if (!originHeader) return { ok: true }
  const hostname = URL.canParse(originHeader) ? new URL(originHeader).hostname : ''
  if (hostname === '') {
    const message = `Invalid Origin header: ${originHeader}`
    return { ok: false, errorCode: 'invalid_origin_header', message, originHeader }
  }
  if (allowedOriginHostnames.includes(hostname)) return { ok: true, origin: originHeader, hostname }
  return { ok: false, errorCode: 'invalid_origin', message: `Invalid Origin: ${hostname}`, originHeader, hostname }
}

/** The host names of pages from this machine. */
export function localhostAllowedOrigins(): string[] {
  return ['localhost', '127.0.0.1', '[::1]']
}

/** Returns the refusal of a request from another origin; undefined if the request may pass. */
export function originValidationResponse(req: Request, allowedOriginHostnames: string[]): Response | undefined {
  const result = validateOriginHeader(req.headers.get('origin'), allowedOriginHostnames)
  return result.ok ? undefined : Response.json(refusalBody(result.message), { status: 403 })
}
