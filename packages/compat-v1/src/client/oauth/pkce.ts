/** A code verifier and its S256 challenge, with the names of RFC 7636. */
export interface PkcePair {
  code_verifier: string
  code_challenge: string
}

/** Creates a random code verifier and its challenge (RFC 7636, 4.1 and 4.2). */
export default async function createPkcePair(): Promise<PkcePair> {
  const code_verifier = toBase64Url(crypto.getRandomValues(new Uint8Array(32)))
  return { code_verifier, code_challenge: await challengeOf(code_verifier) }
}

/** Whether a challenge belongs to a code verifier (RFC 7636, 4.6). */
export async function verifyChallenge(codeVerifier: string, expectedChallenge: string): Promise<boolean> {
  return (await challengeOf(codeVerifier)) === expectedChallenge
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return toBase64Url(new Uint8Array(digest))
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
