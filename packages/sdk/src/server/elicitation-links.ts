import { McpError } from '../errors.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import { Sealer } from '../util/sealer.ts'
import type { Context } from './context.ts'
import { checkStateKey, type StateKey } from './state-handles.ts'

/** Options of `elicitationLinks()`. */
export interface ElicitationLinksOptions {
  /** Encrypts the links. Use the same key in the server and in the pages. */
  stateKey: StateKey
  /** How long a link is valid. Default 900,000 (15 minutes). */
  ttlMs?: number | undefined
}

/** The user who is logged in on the page. */
export interface PageUser {
  subject: string
  /** The issuer, if `ctx.auth` has one. The same subject of two issuers is two users. */
  issuer?: string | undefined
}

/** Creates and verifies links for URL elicitation. */
export interface ElicitationLinks {
  /**
   * Returns the URL of a page for the calling user. Pass it to `ctx.elicitUrl`.
   * @param data Any JSON value that the page needs. It is encrypted.
   */
  create(page: string | URL, ctx: Context, data?: unknown): Promise<string>
  /**
   * Returns the data of a link. Call it in the page with the requested URL and the user who is logged in there. Rejects if the
   * link belongs to another user, was modified or has expired.
   */
  verify(opened: string | URL, user: PageUser): Promise<unknown>
}

/**
 * Binds the URLs of URL elicitations to the calling user (2025-11-25 elicitation, phishing): an attacker cannot make another
 * user open the attacker's link.
 *
 * @example
 * ```ts
 * const links = elicitationLinks({ stateKey })
 * await ctx.elicitUrl('Connect your account', await links.create('https://example.com/connect', ctx))
 * // In the page:
 * await links.verify(request.url, { subject: session.userId })
 * ```
 */
export function elicitationLinks({ stateKey, ttlMs = 900_000 }: ElicitationLinksOptions): ElicitationLinks {
  checkStateKey(stateKey)
  const sealer = new Sealer([stateKey])
  return {
    async create(page, ctx, data) {
      const { subject, issuer } = ctx.auth ?? {}
      if (subject === undefined)
        throw new TypeError('elicitationLinks() requires an authenticated caller: ctx.auth has no subject')
      const url = new URL(checkSafeUrl(page))
      const ticket = await sealer.seal({ data, expires: clock.now() + ttlMs }, purposeOf(url, { subject, issuer }))
      url.searchParams.set(parameter, ticket)
      return url.href
    },
    async verify(opened, user) {
      const url = new URL(opened)
      const ticket = url.searchParams.get(parameter) ?? ''
      const found = await sealer.open(ticket, purposeOf(url, user))
      if (isObject(found) && (found.expires as number) > clock.now()) return found.data
      throw new McpError('invalid-argument', 'Invalid link: it has expired, was modified, or belongs to another user')
    },
  }
}

const parameter = 'ticket'

/** Includes the user and the whole URL, so that a ticket is not valid on another page. */
function purposeOf(url: URL, { subject, issuer }: PageUser): string {
  const bare = new URL(url)
  bare.searchParams.delete(parameter)
  bare.searchParams.sort()
  bare.hash = ''
  return `elicitation link ${JSON.stringify([issuer ?? null, subject, bare.href])}`
}
