import { calculateJwkThumbprint, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { createDpopProof, generateDpopKeyPair } from 'tenon/auth/client'
import { dpop, jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'

describe('createDpopProof', () => {
  it('signs method, URL without query, token hash and nonce [AUTH-111]', async () => {
    const key = await generateDpopKeyPair()
    const url = 'https://mcp.example.com/mcp?a=1#b'
    const proof = await createDpopProof(key, { method: 'post', url, accessToken: 'token', nonce: 'n' })
    const { jwk, ...header } = decodeProtectedHeader(proof)
    expect(header).toEqual({ alg: 'ES256', typ: 'dpop+jwt' })
    expect(await calculateJwkThumbprint(jwk as JWK)).toBe(key.thumbprint)
    const { payload } = await jwtVerify(proof, key.publicKey)
    expect(payload).toMatchObject({ htm: 'POST', htu: 'https://mcp.example.com/mcp', nonce: 'n' })
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('token'))
    expect(payload.ath).toBe(Buffer.from(digest).toString('base64url'))
  })

  it('is different for every request [AUTH-111]', async () => {
    const key = await generateDpopKeyPair({ algorithm: 'EdDSA' })
    const request = { method: 'GET', url: 'https://mcp.example.com/' }
    expect(await createDpopProof(key, request)).not.toBe(await createDpopProof(key, request))
  })

  it('is accepted by an authorization server and an MCP server [AUTH-111]', async () => {
    const client = { client_id: 'job', client_secret: 'a secret of a few words' }
    await using as = await startAuthorizationServer({ clients: [client], dpop: 'required' })
    const server = new McpServer({ name: 'vault', version: '1.0.0' })
    const auth = { verify: jwtVerifier({ issuer: as.issuer }), authorizationServers: [as.issuer], dpop: dpop() }
    await using serving = await serveHttp(server, { port: 0, exit: false, auth })
    const key = await generateDpopKeyPair()

    const tokenUrl = `${as.issuer}/token`
    const issued = await fetch(tokenUrl, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`,
        dpop: await createDpopProof(key, { method: 'POST', url: tokenUrl }),
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: String(serving.url) }),
    })
    const { access_token: accessToken, token_type } = (await issued.json()) as Record<string, string>
    expect(token_type).toBe('DPoP')

    const url = serving.url
    const headers = {
      authorization: `DPoP ${accessToken}`,
      dpop: await createDpopProof(key, { method: 'POST', url, accessToken }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'job', version: '1.0.0' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const response = await fetch(url, { method: 'POST', headers, body })
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })
})
