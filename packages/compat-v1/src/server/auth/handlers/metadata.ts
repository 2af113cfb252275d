import cors from 'cors'
import express, { type RequestHandler } from 'express'
import type { OAuthMetadata, OAuthProtectedResourceMetadata } from '../../../shared/auth.ts'
import { allowedMethods } from '../middleware/allowedMethods.ts'

/** Returns a handler that serves a metadata document to everyone, also to web pages. */
export function metadataHandler(metadata: OAuthMetadata | OAuthProtectedResourceMetadata): RequestHandler {
  const router = express.Router()
  router.use(cors(), allowedMethods(['GET', 'OPTIONS']))
  router.get('/', (_req, res) => void res.status(200).json(metadata))
  return router
}
