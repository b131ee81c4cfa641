import type {Pool, Tx} from '../../sql/database.ts'
import {findMember} from '../../sql/members.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {insertToken, readToken, revokeToken, revokeTokensOf, type TokenRow} from '../../sql/tokens.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {isAtLeast} from './roles.ts'
import {mintSecret} from './token-secret.ts'

type NewToken = {name: string; expiresAt: string | null}

/**
 * Creates an API token. The secret is returned once and never stored. The role is checked again under the org's row lock, so that no token
 * outlasts a demotion that revokes the tokens of the member.
 */
export const createToken = (
  db: Pool,
  author: Author & {person: string},
  {name, expiresAt}: NewToken,
): Promise<{token: TokenRow; secret: string}> =>
  db.transaction(async tx => {
    const {org, person} = author
    await lockOrg(tx, org)
    const member = await findMember(tx, {org, person})
    if (!member || !isAtLeast(member.role, 'admin'))
      throw new Refusal('ROLE_REQUIRED', 'This needs the admin role, which you no longer have')
    const {secret, hash, prefix} = mintSecret()
    const token = await insertToken(tx, {id: newId('tok'), org, person, name, prefix, hash, expiresAt})
    if (!token) {
      const message = 'The expiry is in the past. Choose a later time'
      throw new Refusal('INVALID', message, {issues: [{code: 'custom', path: ['expiresAt'], message}]})
    }
    await recordChanges(tx, author, [{...about(token), subject: 'token.created', before: null, after: contentOf(token)}])
    return {token, secret}
  })

/** Revokes an API token. A second revocation changes nothing and is not recorded. */
export const endToken = (db: Pool, author: Author, id: string): Promise<TokenRow> =>
  db.transaction(async tx => {
    const before = await readToken(tx, {org: author.org, id})
    if (!before) throw new Refusal('NOT_FOUND', 'No such token')
    if (before.revokedAt !== null) return before
    await recordRevoked(tx, author, [before])
    return revokeToken(tx, id)
  })

export const endTokensOf = async (tx: Tx, author: Author, person: string): Promise<void> =>
  recordRevoked(tx, author, await revokeTokensOf(tx, {org: author.org, person}))

const recordRevoked = (tx: Tx, author: Author, tokens: readonly TokenRow[]) =>
  recordChanges(
    tx,
    author,
    tokens.map(token => ({...about(token), subject: 'token.revoked', before: contentOf(token), after: null})),
  )

const about = ({name}: TokenRow) => ({page: 'tokens', target: name}) as const
const contentOf = ({id, prefix, expiresAt}: TokenRow) => ({tokenId: id, prefix, expiresAt})
