import type { ClientCapabilities, ElicitUrlParams } from 'tenon'

export type { ClientCapabilities }
export type ElicitRequestURLParams = ElicitUrlParams

/** The data of a `MissingRequiredClientCapabilityError`. */
export interface MissingRequiredClientCapabilityErrorData {
  requiredCapabilities: ClientCapabilities
}

/** The data of an `UnsupportedProtocolVersionError`. */
export interface UnsupportedProtocolVersionErrorData {
  supported: string[]
  requested: string
}
