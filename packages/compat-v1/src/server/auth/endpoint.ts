// The parts that all OAuth endpoints share.
import type { Request, Response } from 'express'
import { type Options as RateLimitOptions, rateLimit } from 'express-rate-limit'
import { sendError } from './endpoint-errors.ts'
import { TooManyRequestsError } from './errors.ts'

/** Limits the requests of one address; false: no limit. */
export type EndpointRateLimit = Partial<RateLimitOptions> | false | undefined

const minuteMs = 60_000

/** Returns the middleware of a rate limit; none if it is turned off. */
export function limitRate(limit: EndpointRateLimit, requests: number, minutes: number, what: string) {
  if (limit === false) return []
  const refusal = new TooManyRequestsError(`You have exceeded the rate limit for ${what} requests`)
  return [
    rateLimit({
      windowMs: minutes * minuteMs,
      limit: requests,
      standardHeaders: true,
      legacyHeaders: false,
      message: refusal.toResponseObject(),
      ...limit,
    }),
  ]
}

/** Runs an endpoint and answers with the error that it throws. */
export function answering(answer: (req: Request, res: Response) => Promise<void>) {
  return async (req: Request, res: Response): Promise<void> => {
    res.setHeader('Cache-Control', 'no-store')
    try {
      await answer(req, res)
    } catch (error) {
      sendError(res, error)
    }
  }
}
