import type { RequestHandler } from 'express'
import { MethodNotAllowedError } from '../errors.ts'

/** Returns middleware that answers other methods with 405. */
export function allowedMethods(allowedMethods: string[]): RequestHandler {
  return (req, res, next) => {
    if (allowedMethods.includes(req.method)) return next()
    const error = new MethodNotAllowedError(`The method ${req.method} is not allowed for this endpoint`)
    res.status(405).set('Allow', allowedMethods.join(', ')).json(error.toResponseObject())
  }
}
