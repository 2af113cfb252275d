/** A code verifier and its S256 challenge, with the names of RFC 7636. */
export interface PkcePair {
  code_verifier: string
  code_challenge: string
}

/** Creates a random code verifier and its challenge (RFC 7636, 4.1 and 4.2). */
export default async function createPkcePair(): Promise<PkcePair> {
  const code_verifier = toBase64Url(crypto.getRandomValues(new Uint8Array(32)))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(code_verifier))
  return { code_verifier, code_challenge: toBase64Url(new Uint8Array(digest)) }
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
