import { McpError } from '../errors.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import { Sealer } from '../util/sealer.ts'
import type { Context } from './context.ts'
import { checkStateKey, type StateKey } from './state-key.ts'

export interface ElicitationLinksOptions {
  /** Seals the links. The server and the pages share it. */
  stateKey: StateKey
  /** How long a link works. Default 900,000 (15 minutes). */
  ttlMs?: number | undefined
}

/** The user who opens a page, as the page's own login knows them. */
export interface PageUser {
  subject: string
  /** The issuer, where `ctx.auth` has one: subjects of two issuers are different users. */
  issuer?: string | undefined
}

export interface ElicitationLinks {
  /**
   * The URL of a page for the user who is calling; give it to `ctx.elicitUrl`.
   * @param data Anything that the page needs, as JSON. Nobody on the way can read or change it.
   */
  create(page: string | URL, ctx: Context, data?: unknown): Promise<string>
  /**
   * Called by the page, with the URL that was opened and the user who is logged in there. Returns the data. Rejects when the
   * link was made for another user, was changed, or has expired.
   */
  verify(opened: string | URL, user: PageUser): Promise<unknown>
}

/**
 * Binds the pages of URL elicitation to the user whose call asked for them (2025-11-25 elicitation, phishing): an attacker who
 * passes their own link on to somebody else gets nowhere.
 *
 * @example
 * const links = elicitationLinks({ stateKey })
 * await ctx.elicitUrl('Connect your account', await links.create('https://example.com/connect', ctx))
 * // In the page:
 * await links.verify(request.url, { subject: session.userId })
 */
export function elicitationLinks({ stateKey, ttlMs = 900_000 }: ElicitationLinksOptions): ElicitationLinks {
  checkStateKey(stateKey)
  const sealer = new Sealer([stateKey])
  return {
    async create(page, ctx, data) {
      const { subject, issuer } = ctx.auth ?? {}
      if (subject === undefined) throw new TypeError('elicitationLinks: the caller has no subject to bind the link to')
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
      throw new McpError('invalid-argument', 'This link has expired, was changed, or was made for another user.')
    },
  }
}

const parameter = 'ticket'

/** The user, and the whole address: a ticket of one page is worth nothing on another. */
function purposeOf(url: URL, { subject, issuer }: PageUser): string {
  const bare = new URL(url)
  bare.searchParams.delete(parameter)
  bare.searchParams.sort()
  bare.hash = ''
  return `elicitation link ${JSON.stringify([issuer ?? null, subject, bare.href])}`
}
