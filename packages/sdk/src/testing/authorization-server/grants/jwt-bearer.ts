import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import { invalidGrant, OAuthError } from '../../../auth/server/oauth-error.ts'
import { isSubset, narrowedScope, toScopes } from '../../../auth/server/params.ts'
import { askedResource, askedScope, checkResource, isScope } from '../asked.ts'
import { verifyAssertion } from '../assertions.ts'
import type { TrustedIssuer } from '../options.ts'
import type { State } from '../state.ts'
import { replyWithTokens } from '../token-reply.ts'
import type { Grant } from '../tokens.ts'
import { type GrantHandler, needClient, type TokenRequest } from './grant.ts'

export const idJagType = 'oauth-id-jag+jwt'

/**
 * Issues a token for an assertion of a trusted issuer (RFC 7523 section 2.1): of an identity provider about one of its
 * users (an ID-JAG, recognized by its type), or of a platform about a workload.
 */
export const jwtBearer: GrantHandler = async (asked, state) => {
  const assertion = asked.params.require('assertion')
  const { typ, issuer } = outsideOf(assertion)
  const kind = typ === idJagType ? 'id-jag' : 'workload'
  const trusted = state.settings.trustedIssuers.find((it) => it.issuer === issuer)
  if (!trusted || !(trusted.accepts ?? [kind]).includes(kind)) {
    throw invalidGrant(`The issuer of the assertion is not trusted for this kind: ${kind}`)
  }
  const claims = await verify(assertion, trusted, state)
  const grant = kind === 'id-jag' ? fromIdJag(claims, asked, state) : fromWorkload(claims, asked, state)
  // No refresh token: the client can use the assertion again, or a new one.
  return replyWithTokens({ family: { grant, isRevoked: false }, client: asked.client, jkt: asked.jkt }, state)
}

/** Enterprise-managed authorization: for the client that redeems it, and for what the identity provider granted. */
function fromIdJag(claims: JWTPayload, asked: TokenRequest, { settings }: State): Grant {
  const { client_id: clientId } = needClient(asked)
  if (claims.client_id !== clientId) throw invalidGrant('The assertion is for another client')
  const resource = checkResource(textsOf(claims.resource), settings)
  const isOther = !isSubset(asked.params.all('resource'), resource)
  if (isOther) throw new OAuthError('invalid_target', 'resource does not match the assertion')
  const granted = toScopes(textsOf(claims.scope)[0]).filter((name) => isScope(name, settings))
  return { sub: subjectOf(claims), clientId, scope: narrowedScope(asked.params, granted), resource }
}

/** Workload identity: the platform identifies the workload, so it needs neither registration nor secret. */
function fromWorkload(claims: JWTPayload, { params, client }: TokenRequest, { settings }: State): Grant {
  const sub = subjectOf(claims)
  const scope = askedScope(params, client?.scope, settings)
  return { sub, clientId: client?.client_id ?? sub, scope, resource: askedResource(params, settings) }
}

function outsideOf(assertion: string): { typ: string | undefined; issuer: string | undefined } {
  try {
    return { typ: decodeProtectedHeader(assertion).typ?.toLowerCase(), issuer: decodeJwt(assertion).iss }
  } catch {
    throw invalidGrant('The assertion is not a JWT')
  }
}

async function verify(assertion: string, { issuer, jwks }: TrustedIssuer, state: State): Promise<JWTPayload> {
  try {
    return await verifyAssertion(assertion, jwks, state.settings, { issuer, audience: state.issuer })
  } catch (error) {
    throw invalidGrant(`Invalid assertion: ${error instanceof Error ? error.message : error}`)
  }
}

function textsOf(claim: unknown): string[] {
  return [claim].flat().filter((it) => typeof it === 'string')
}

function subjectOf({ sub }: JWTPayload): string {
  if (sub === undefined) throw invalidGrant('The assertion has no subject')
  return sub
}
