// Errors with numeric codes. They are not in `types.ts`, because that module loads zod.

import type { ElicitRequestURLParams } from '../generated/protocol-types.ts'

const codes = {
  /** The connection was closed. */
  ConnectionClosed: -32000,
  /** A request had no response in time. */
  RequestTimeout: -32001,
  /** The message is not JSON. */
  ParseError: -32700,
  /** The message is not a request. */
  InvalidRequest: -32600,
  /** The receiver does not have the method. */
  MethodNotFound: -32601,
  /** The params do not fit the method. */
  InvalidParams: -32602,
  /** The receiver failed. */
  InternalError: -32603,
  /** The user has to open a URL first. */
  UrlElicitationRequired: -32042,
} as const

type NamesByCode = { readonly [Name in keyof typeof codes as (typeof codes)[Name]]: Name } & {
  readonly [code: number]: string
}

const namesByCode = Object.fromEntries(Object.entries(codes).map(([name, code]) => [code, name])) as NamesByCode

/** JSON-RPC error codes by name, and names by code. */
export const ErrorCode: typeof codes & NamesByCode = { ...codes, ...namesByCode }
export type ErrorCode = (typeof codes)[keyof typeof codes]
/** Programs name single codes as types too, as the members of an enum. */
export declare namespace ErrorCode {
  type ConnectionClosed = (typeof codes)['ConnectionClosed']
  type RequestTimeout = (typeof codes)['RequestTimeout']
  type ParseError = (typeof codes)['ParseError']
  type InvalidRequest = (typeof codes)['InvalidRequest']
  type MethodNotFound = (typeof codes)['MethodNotFound']
  type InvalidParams = (typeof codes)['InvalidParams']
  type InternalError = (typeof codes)['InternalError']
  type UrlElicitationRequired = (typeof codes)['UrlElicitationRequired']
}

/** An error with a JSON-RPC code. Handlers throw it to answer with that code; requests reject with it. */
export class McpError extends Error {
  readonly code: number
  readonly data?: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(`MCP error ${code}: ${message}`)
    this.name = 'McpError'
    this.code = code
    this.data = data
  }

  /** Creates the error class that fits a code and its data. */
  static fromError(code: number, message: string, data?: unknown): McpError {
    const { elicitations } = (data ?? {}) as { elicitations?: ElicitRequestURLParams[] }
    return code === ErrorCode.UrlElicitationRequired && elicitations
      ? new UrlElicitationRequiredError(elicitations, message)
      : new McpError(code, message, data)
  }
}

/** Rejects a request until the user has opened one or more URLs. */
export class UrlElicitationRequiredError extends McpError {
  constructor(
    elicitations: ElicitRequestURLParams[],
    message = `URL elicitation${elicitations.length > 1 ? 's' : ''} required`,
  ) {
    super(ErrorCode.UrlElicitationRequired, message, { elicitations })
  }

  /** The URLs to open. */
  get elicitations(): ElicitRequestURLParams[] {
    return (this.data as { elicitations?: ElicitRequestURLParams[] } | undefined)?.elicitations ?? []
  }
}
