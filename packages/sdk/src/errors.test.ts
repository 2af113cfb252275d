import { expect, it } from 'vitest'
import { ErrorCode, ProtocolError } from './errors.ts'

it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, '7' as unknown as number])(
  'replaces the code %s, which is not an integer [RPC-012]',
  (code) => {
    expect(new ProtocolError(code, 'No').toBody()).toEqual({ code: ErrorCode.InternalError, message: 'No' })
    expect(new ProtocolError(-7, 'No').toBody().code).toBe(-7)
  },
)
