import type { RequestHandler, Response } from 'express'

/**
 * Returns middleware that refuses requests for other hosts, against DNS rebinding.
 *
 * @param allowedHostnames Names without ports. IPv6 addresses have brackets: `[::1]`.
 */
export function hostHeaderValidation(allowedHostnames: string[]): RequestHandler {
  return ({ headers: { host } }, res, next) => {
    const hostname = host && hostnameOf(host)
    if (!host) refuse(res, 'Missing Host header')
    else if (hostname === undefined) refuse(res, `Invalid Host header: ${host}`)
    else if (!allowedHostnames.includes(hostname as string)) refuse(res, `Invalid Host: ${hostname}`)
    else next()
  }
}

/** Returns middleware that accepts requests for `localhost`, `127.0.0.1` and `[::1]` only. */
export function localhostHostValidation(): RequestHandler {
  return hostHeaderValidation(['localhost', '127.0.0.1', '[::1]'])
}

function hostnameOf(host: string): string | undefined {
  const url = `http://${host}`
  return URL.canParse(url) ? new URL(url).hostname : undefined
}

function refuse(res: Response, message: string): void {
  res.status(403).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null })
}
