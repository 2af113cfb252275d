import { sha256 } from '../../util/base64url.ts'
import { isObject, pick } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import type { RequestHead } from '../http.ts'
import { parseCredentials } from './challenge.ts'

/** A request that an authentication layer in front of the server has checked. */
export interface AuthenticatedRequest extends Pick<RequestHead, 'header'> {
  /** The identity that the layer left on the request. */
  readonly auth?: unknown
}

/**
 * Returns the principal of an authenticated request: the owner of its sessions, tasks, state and limits. Undefined means
 * anonymous. Returns a promise only if the token has to be hashed.
 */
export function principalOf(request: AuthenticatedRequest): string | undefined | Promise<string> {
  const { auth } = request
  if (auth === undefined || auth === null) return undefined
  const token = isObject(auth) ? auth.token : undefined
  // A layer may leave a placeholder as `auth.token`, and a gateway may send its own token in the header, so both count.
  const tokens = new Set([token, parseCredentials(request.header('authorization'))?.token].filter(isText))
  return principalFor(auth, tokens.size === 0 ? undefined : [...tokens].join(' '))
}

/**
 * Returns the principal for the result of a verifier or an authentication layer. It is, in this order: the user as known to
 * the issuer; the holder of this token; any other description of the user. A client id alone is not enough, because all
 * users of a client share it: such callers are anonymous. The principal is JSON text, so that no two collide.
 */
export function principalFor(auth: unknown, token: string): string | Promise<string>
export function principalFor(auth: unknown, token: string | undefined): string | undefined | Promise<string>
export function principalFor(auth: unknown, token: string | undefined): string | undefined | Promise<string> {
  const places = placesOf(auth)
  const issuer = find(places, issuerNames)
  const subject = find(places, subjectNames)
  if (isKnown(subject)) return JSON.stringify([issuer, 'subject', subject])
  const user = [...valuesOf(places, userIdNames), userObjectId(auth)]
  if (user.some(isKnown)) return JSON.stringify([issuer, 'user', ...user])
  const about = valuesOf(places, descriptionNames)
  const client = find(places, clientNames)
  if (token !== undefined)
    return sha256(token).then((digest) => JSON.stringify([issuer, 'token', digest, client, ...about]))
  if (about.some(isKnown)) return JSON.stringify([issuer, 'about', client, ...about])
  warnOnce(
    'auth-without-principal',
    'The auth of a request has neither a user id (such as `sub`) nor a token, so the caller is treated as anonymous. Set `principal` to tell callers apart.',
  )
  return undefined
}

/** Returns the user of a token, for `AuthInfo.subject`. */
export function subjectOf(auth: unknown): string | undefined {
  const subject = find(placesOf(auth), subjectNames)
  return typeof subject === 'string' ? subject : undefined
}

/** Returns the issuer of a token, for `AuthInfo.issuer`. A subject means nothing without its issuer. */
export function issuerOf(auth: unknown): string | undefined {
  const issuer = find(placesOf(auth), issuerNames)
  return issuer === null ? undefined : String(issuer)
}

/** Copies the members by which `principalFor` tells users apart, except `extra`, `claims` and the client. */
export function userMembersOf(auth: object): object {
  return pick(auth, [...issuerNames, ...subjectNames, ...userIdNames, ...descriptionNames, 'payload'])
}

const issuerNames = ['issuer', 'iss']
const subjectNames = ['subject', 'sub']
const userIdNames = ['user', 'userId', 'user_id', 'uid']

/**
 * These may be shared, reassigned or chosen by the user (OpenID Connect Core 5.7). They tell callers further apart, but never
 * make the holders of two tokens one principal.
 */
const descriptionNames = ['id', 'email', 'username', 'preferred_username']

const clientNames = ['clientId', 'client_id', 'azp']

type Members = Readonly<Record<string, unknown>>
type Id = string | number

/** The objects in which authentication layers put claims: the top level, or one level down. */
function placesOf(auth: unknown): Members[] {
  if (!isObject(auth)) return []
  return [auth, ...['extra', 'claims', 'payload', 'user'].map((name) => auth[name]).filter(isObject)]
}

function valuesOf(places: readonly Members[], names: readonly string[]): (Id | null)[] {
  return names.map((name) => find(places, [name]))
}

/** Returns the first value under one of these names, or null. */
function find(places: readonly Members[], names: readonly string[]): Id | null {
  for (const place of places) {
    for (const name of names) {
      const value = place[name] instanceof URL ? place[name].href : place[name]
      if (isId(value)) return value
    }
  }
  return null
}

/** Returns `user.id`. An `id` elsewhere may be that of the token or the client. */
function userObjectId(auth: unknown): Id | null {
  const user = isObject(auth) ? auth.user : undefined
  return isObject(user) && isId(user.id) ? user.id : null
}

function isKnown(value: Id | null): value is Id {
  return value !== null
}

/** Numbers beyond the safe range are rounded, so two users could get the same id. */
function isId(value: unknown): value is Id {
  return isText(value) || Number.isSafeInteger(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
