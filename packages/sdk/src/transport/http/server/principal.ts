import { sha256 } from '../../../util/base64url.ts'
import { isObject, pick } from '../../../util/objects.ts'
import { warnOnce } from '../../../util/warn.ts'
import { parseCredentials } from './auth/challenge.ts'
import type { CallRequest } from './call.ts'

/**
 * Returns the principal of a request that an authentication layer in front of us has checked: whom sessions, tasks, state
 * and limits belong to. Undefined: anonymous. A promise only where the token has to be digested.
 */
export function principalOf(request: CallRequest): string | undefined | Promise<string> {
  const { auth } = request
  if (auth === undefined || auth === null) return undefined
  const { token } = auth as { token?: unknown }
  // Layers may leave a placeholder in one place, and gateways send a token of their own in the other: both have to agree.
  const tokens = new Set([token, parseCredentials(request.header('authorization'))?.token].filter(isText))
  return principalFor(auth, tokens.size === 0 ? undefined : [...tokens].join(' '))
}

/**
 * Returns the principal for what a verifier or an authentication layer says of a caller. In this order: the user, as their
 * issuer knows them; whoever holds this token; whatever else describes the user. The client id alone names nobody, because
 * all users of a client share it: such callers are anonymous. The text is JSON, so that no two principals collide.
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
    'The auth of a request has neither a user id (such as `sub`) nor a token, so its caller is treated as anonymous. Set `principal` to tell callers apart.',
  )
  return undefined
}

/** Returns the text that names the user of a token, for `AuthInfo.subject`. */
export function subjectOf(auth: unknown): string | undefined {
  const subject = find(placesOf(auth), subjectNames)
  return typeof subject === 'string' ? subject : undefined
}

/** Returns the issuer of a token, for `AuthInfo.issuer`. Found in the same places as the subject, which means nothing without it. */
export function issuerOf(auth: unknown): string | undefined {
  const issuer = find(placesOf(auth), issuerNames)
  return issuer === null ? undefined : String(issuer)
}

/** Copies everything from which `principalFor` tells users apart, besides `extra`, `claims` and the client. */
export function userMembersOf(auth: object): object {
  return pick(auth, [...issuerNames, ...subjectNames, ...userIdNames, ...descriptionNames, 'payload'])
}

const issuerNames = ['issuer', 'iss']
const subjectNames = ['subject', 'sub']
const userIdNames = ['user', 'userId', 'user_id', 'uid']

/**
 * These may be shared, change hands or be chosen by the user (OpenID Connect Core 5.7), so they separate callers further and
 * never join the holders of two tokens.
 */
const descriptionNames = ['id', 'email', 'username', 'preferred_username']

const clientNames = ['clientId', 'client_id', 'azp']

type Members = Readonly<Record<string, unknown>>
type Id = string | number

/** The objects in which authentication layers put what they know: claims on top, or one level down. */
function placesOf(auth: unknown): Members[] {
  if (!isObject(auth)) return []
  return [auth, ...['extra', 'claims', 'payload', 'user'].map((name) => auth[name]).filter(isObject)]
}

function valuesOf(places: readonly Members[], names: readonly string[]): (Id | null)[] {
  return names.map((name) => find(places, [name]))
}

/** The first value under one of these names; null, as JSON has it, where there is none. */
function find(places: readonly Members[], names: readonly string[]): Id | null {
  for (const place of places) {
    for (const name of names) {
      const value = place[name] instanceof URL ? place[name].href : place[name]
      if (isId(value)) return value
    }
  }
  return null
}

/** `{ user: { id } }`. An `id` elsewhere may be that of the token or the client. */
function userObjectId(auth: unknown): Id | null {
  const user = isObject(auth) ? auth.user : undefined
  return isObject(user) && isId(user.id) ? user.id : null
}

function isKnown(value: Id | null): value is Id {
  return value !== null
}

/** Numbers beyond the safe range are rounded, which would make two users one. */
function isId(value: unknown): value is Id {
  return isText(value) || Number.isSafeInteger(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
