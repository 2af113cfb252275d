/** Thrown when the server requires authorization and the client has none that it accepts. */
export class UnauthorizedError extends Error {
  constructor(message?: string) {
    super(message ?? 'Unauthorized')
  }
}
