import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { jwtVerifier, type TokenVerifier } from 'tenon/auth/server'
import { isLoopbackHost, safeLine } from 'tenon/internal'
import { usageError } from '../exit-codes.ts'
import { collect } from '../options.ts'
import type { Output } from '../output.ts'

/** Options that say who may call over HTTP. */
export interface CallerFlags {
  token?: string[]
  tokenFile?: string
  jwks?: string
  issuer?: string
  audience?: string[]
  oauth?: string
  publicUrl?: string
  allowHost?: string[]
}

/** How callers are authenticated. */
export interface CallerAuth {
  readonly verifier: TokenVerifier
  /** The issuer that clients log in at; undefined if callers get their tokens in another way. */
  readonly issuer: string | undefined
  /** The URL that callers use; undefined for the one that is served. */
  readonly publicUrl: string | undefined
  /** For the user: who may call. */
  readonly summary: string
  readonly warnings: readonly string[]
}

/** The variable with tokens. Other users of the machine can see options, but not variables. */
export const tokenVariable = 'TENON_SERVE_TOKEN'

/** Adds the options that say who may call. They are the same for every command that serves others. */
export function addCallerOptions(command: Command): void {
  command
    .option('--token <[name:]token>', `a token that callers send (repeatable; better: ${tokenVariable})`, collect)
    .option('--token-file <file>', 'a file with one "name: token" per line')
    .option('--jwks <url>', 'accept JWTs that are signed with one of these keys')
    .option('--issuer <url>', 'the issuer of the JWTs')
    .option('--audience <value>', 'the audience of the JWTs (repeatable)', collect)
    .option('--oauth <issuer>', 'let callers log in at this OAuth issuer')
    .option('--public-url <url>', 'the URL that callers use, if it is not the one that is printed')
    .option('--allow-host <name>', 'a host name that callers use (repeatable)', collect)
}

/**
 * Reads how callers are authenticated. Undefined if everyone may call, which is possible on this machine only.
 * @param address The address to listen on; undefined over stdio, where the caller is the program that started this one.
 * @throws CliError if the options do not fit together, or other machines can reach the address without authentication
 */
export function readCallerAuth(flags: CallerFlags, address: string | undefined): CallerAuth | undefined {
  if (address === undefined) return checkStdio(flags)
  const tokens = readTokens(flags)
  const jwt = jwtOptions(flags)
  checkPublicUrl(flags, address)
  checkLengths(tokens, address)
  const verifiers = [...(tokens.size > 0 ? [tokenVerifier(tokens)] : []), ...(jwt ? [createJwtVerifier(jwt)] : [])]
  if (verifiers.length === 0) {
    if (isLoopbackHost(address)) return undefined
    throw usageError(`Listening on ${address || 'all addresses'} needs a token: other machines can reach it.`, ways)
  }
  return {
    verifier: firstOf(verifiers),
    issuer: flags.oauth,
    publicUrl: flags.publicUrl,
    summary: summaryOf(tokens, jwt?.issuer),
    warnings: warningsOf(tokens, flags),
  }
}

const ways =
  `Set ${tokenVariable}=<name>:<token>, or pass --token-file, --jwks with --issuer and --audience, or --oauth. ` +
  'Without authentication, listen on 127.0.0.1.'

function checkStdio({ token, tokenFile, jwks, oauth }: CallerFlags): undefined {
  if ([token, tokenFile, jwks, oauth].some((option) => option !== undefined))
    throw usageError('Tokens are for HTTP.', 'Over stdio, the caller is the program that starts this one.')
}

/** Prints who may call, and what makes tokens less safe. */
export function noteCallers(auth: CallerAuth | undefined, output: Output): void {
  if (!auth) return
  output.note(safeLine(auth.summary, 1_000))
  for (const warning of auth.warnings) output.note(output.notePaint.warning(safeLine(`! ${warning}`, 1_000)))
}

/** Names of callers by token. */
type Tokens = ReadonlyMap<string, string>

function readTokens({ token = [], tokenFile }: CallerFlags): Tokens {
  const inVariable = process.env[tokenVariable]?.split(/[\s,]+/).filter(Boolean) ?? []
  const inFile = tokenFile === undefined ? [] : readTokenFile(tokenFile)
  const tokens = new Map<string, string>()
  const entries = [...token, ...inVariable, ...inFile].map(parseToken)
  for (const { name, token: value } of entries) {
    if (name === undefined) continue
    const before = tokens.get(value)
    if (before !== undefined && before !== name)
      throw usageError(`A token has two names: ${before} and ${name}.`, 'Give each caller a token of its own.')
    tokens.set(value, name)
  }
  for (const { token: value } of entries) if (!tokens.has(value)) tokens.set(value, freeName(tokens))
  return tokens
}

/** Names are in logs. A number tells nothing about the token, unlike a part of its digest, by which a guess can be checked. */
function freeName(tokens: Tokens): string {
  const taken = new Set(tokens.values())
  let number = 1
  while (taken.has(`token-${number}`)) number++
  return `token-${number}`
}

/** A token cannot contain a colon (RFC 6750 2.1), so the name ends at the first one. */
function parseToken(entry: string): { name: string | undefined; token: string } {
  const at = entry.indexOf(':')
  const token = entry.slice(at + 1).trim()
  const name = at === -1 ? undefined : entry.slice(0, at).trim()
  if (token === '') throw usageError('The token is empty.', 'Pass one that is long and random: openssl rand -hex 32')
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(token))
    throw usageError('A token cannot be sent in a header.', 'Use letters, digits and - . _ ~ + / only.')
  if (name !== undefined && !/^[\w.@+-]{1,64}$/.test(name))
    throw usageError('Invalid name of a token.', 'Use letters, digits and . _ @ + - only: alice:<token>')
  return { name, token }
}

function readTokenFile(path: string): string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(`Cannot read the tokens in ${path}: ${(error as Error).message}`)
  }
  const entries = text.split('\n').map((line) => line.trim())
  const found = entries.filter((line) => line !== '' && !line.startsWith('#'))
  if (found.length === 0) throw usageError(`No tokens in ${path}.`, 'Write one per line: alice: <token>')
  return found
}

/** Compares digests of all tokens, which takes the same time for every one. The name is the user behind the token. */
function tokenVerifier(tokens: Tokens): TokenVerifier {
  const known = [...tokens].map(([token, name]) => ({ digest: digestOf(token), name }))
  return (token) => {
    const digest = digestOf(token)
    const found = known.filter((each) => timingSafeEqual(each.digest, digest))
    return found[0] && { issuer: 'tenon:token', subject: found[0].name, scopes: [] }
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

interface JwtOptions {
  readonly issuer: string
  readonly audience?: string[] | undefined
  readonly jwksUri?: string | undefined
}

function jwtOptions({ jwks, issuer, audience, oauth }: CallerFlags): JwtOptions | undefined {
  if (oauth !== undefined) {
    if (issuer !== undefined && issuer !== oauth)
      throw usageError('--oauth and --issuer name different issuers.', 'Pass --oauth only.')
    return { issuer: oauth, audience, jwksUri: jwks }
  }
  if (jwks === undefined) {
    if (issuer !== undefined || audience !== undefined)
      throw usageError('--issuer and --audience need the keys of the issuer.', 'Add --jwks <url>, or use --oauth.')
    return undefined
  }
  if (issuer === undefined)
    throw usageError('--jwks needs --issuer: keys alone do not say who signed.', 'Add --issuer <url>.')
  if (audience === undefined)
    throw usageError(
      '--jwks needs --audience: tokens of the same issuer for other servers must not work here.',
      'Add --audience <value>, as in the claim "aud" of the tokens.',
    )
  return { issuer, audience, jwksUri: jwks }
}

function createJwtVerifier(options: JwtOptions): TokenVerifier {
  try {
    return jwtVerifier(options)
  } catch (error) {
    throw usageError(`Invalid option: ${(error as Error).message}`)
  }
}

/** Tokens are issued for a URL. Behind a proxy or on a wildcard address, only the operator knows which one. */
function checkPublicUrl({ oauth, publicUrl }: CallerFlags, address: string): void {
  if (publicUrl !== undefined && !/^https?:$/.test(URL.canParse(publicUrl) ? new URL(publicUrl).protocol : ''))
    throw usageError(`Not a URL: ${publicUrl}`, 'Example: --public-url https://mcp.example.com/mcp')
  if (oauth === undefined || publicUrl !== undefined || isLoopbackHost(address)) return
  throw usageError(
    '--oauth needs --public-url here: tokens are issued for the URL that callers use.',
    'Example: --public-url https://mcp.example.com/mcp',
  )
}

/** A token may be of either kind. If one check fails for another reason, the token may still be valid. */
function firstOf(verifiers: readonly TokenVerifier[]): TokenVerifier {
  return async (token, request) => {
    for (const verify of verifiers) {
      const found = await verify(token, request)
      if (found) return found
    }
    return undefined
  }
}

function summaryOf(tokens: Tokens, issuer: string | undefined): string {
  const names = [...new Set(tokens.values())]
  const shown = names.slice(0, 10).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '')
  const ways = [...(names.length > 0 ? [`tokens of ${shown}`] : []), ...(issuer ? [`tokens issued by ${issuer}`] : [])]
  return `Callers need a token: ${ways.join(', or ')}.`
}

/** The shortest token that nobody guesses: 128 bits in base64 have 22 characters, 64 bits in hexadecimal 16. */
const minLength = 16

function shortOf(tokens: Tokens): string[] {
  return [...tokens].filter(([value]) => value.length < minLength).map(([, name]) => name)
}

/** Whoever reaches the address can try tokens. */
function checkLengths(tokens: Tokens, address: string): void {
  const short = shortOf(tokens)
  if (short.length === 0 || isLoopbackHost(address)) return
  throw usageError(
    `The token of ${short.join(', ')} is too short for ${address || 'all addresses'}: other machines can guess it.`,
    `Use at least ${minLength} random characters (openssl rand -hex 32), or listen on 127.0.0.1.`,
  )
}

function warningsOf(tokens: Tokens, { token, tokenFile }: CallerFlags): string[] {
  const short = shortOf(tokens)
  return [
    ...(short.length > 0 ? [`The token of ${short.join(', ')} is short, so it can be guessed.`] : []),
    ...(token?.length ? [`Other users of this machine can see --token. Use ${tokenVariable} or --token-file.`] : []),
    ...(tokenFile !== undefined && isReadableByOthers(tokenFile)
      ? [`Other users of this machine can read ${tokenFile}. Run: chmod 600 ${tokenFile}`]
      : []),
  ]
}

function isReadableByOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o044) !== 0
}
