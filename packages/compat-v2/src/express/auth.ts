import express, { type RequestHandler, type Router } from 'express'
import { OAuthError, OAuthErrorCode } from '../core/errors.ts'
import type { AuthInfo } from '../core/types.ts'
import {
  type BearerAuthOptions,
  bearerAuthChallengeResponse,
  verifyBearerToken,
} from '../server/middleware/bearer-auth.ts'
import {
  type AuthMetadataOptions,
  buildOAuthProtectedResourceMetadata,
  metadataPath,
} from '../server/middleware/oauth-metadata.ts'

declare module 'express-serve-static-core' {
  interface Request {
    auth?: AuthInfo
  }
}

export type BearerAuthMiddlewareOptions = BearerAuthOptions

/** Requires an access token, and leaves the caller on `req.auth`. */
export function requireBearerAuth(options: BearerAuthMiddlewareOptions): RequestHandler {
  return async (req, res, next) => {
    try {
      req.auth = await verifyBearerToken(req.headers.authorization, options)
    } catch (error) {
      const response = bearerAuthChallengeResponse(error, options)
      const challenge = response.headers.get('www-authenticate')
      if (challenge !== null) res.set('WWW-Authenticate', challenge)
      const known = error instanceof OAuthError ? error : serverError()
      res.status(response.status).json(known.toResponseObject())
      return
    }
    next()
  }
}

/** Serves the OAuth metadata that clients of a protected server look for. */
export function mcpAuthMetadataRouter(options: AuthMetadataOptions): Router {
  const isAllowed = ['true', '1'].includes(process.env.MCP_DANGEROUSLY_ALLOW_INSECURE_ISSUER_URL ?? '')
  const dangerouslyAllowInsecureIssuerUrl = isAllowed || (options.dangerouslyAllowInsecureIssuerUrl ?? false)
  if (dangerouslyAllowInsecureIssuerUrl) {
    console.warn('Issuer URLs without TLS are allowed. Do not use this in production.')
  }
  const metadata = buildOAuthProtectedResourceMetadata({ ...options, dangerouslyAllowInsecureIssuerUrl })
  const router = express.Router()
  router.use(metadataPath(options.resourceServerUrl), documentHandler(metadata))
  router.use('/.well-known/oauth-authorization-server', documentHandler(options.oauthMetadata))
  return router
}

/** Metadata is public, also for web pages of other origins. */
function documentHandler(document: object): RequestHandler {
  return (req, res) => {
    res.set('Access-Control-Allow-Origin', '*')
    if (req.method === 'OPTIONS') {
      res.set('Access-Control-Allow-Methods', 'GET,HEAD,PUT,PATCH,POST,DELETE')
      const requested = req.headers['access-control-request-headers']
      if (requested) res.set('Access-Control-Allow-Headers', requested)
      res.status(204).end()
    } else if (req.method === 'GET') res.status(200).json(document)
    else {
      const message = `The method ${req.method} is not allowed for this endpoint`
      const error = new OAuthError(OAuthErrorCode.MethodNotAllowed, message)
      res.status(405).set('Allow', 'GET, OPTIONS').json(error.toResponseObject())
    }
  }
}

function serverError(): OAuthError {
  return new OAuthError(OAuthErrorCode.ServerError, 'Internal Server Error')
}
