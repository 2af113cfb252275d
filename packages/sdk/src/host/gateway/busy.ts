import { ErrorCode, ProtocolError } from '../../errors.ts'

/** The error for a caller that has to wait. */
export function busy(what: string): ProtocolError {
  return new ProtocolError(ErrorCode.InternalError, `${what}. Try again later.`)
}
