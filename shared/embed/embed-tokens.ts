import type {Pool} from '../../sql/database.ts'
import {deleteOldEmbedTokens, type EmbedTokenRow, insertEmbedToken} from '../../sql/embed-tokens.ts'
import {findSettings} from '../../sql/registry.ts'
import type {Role} from '../accounts/roles.ts'
import {mintSecret} from '../accounts/token-secret.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {findTarget} from './describe.ts'

/** The prefix of an embed token's secret. */
export const EMBED = 'lading-embed_'

type Creator = {org: string; person: string; role: Role; token: string | null}
type CreateEmbedTokenInput = {template: string; origin: string; rowsLimit: number; minutes: number}

/** Creates an embed token. The secret is returned once and never stored. Throws if imports of the template could write to several connections. */
export const createEmbedToken = (db: Pool, {org, person, role, token: apiToken}: Creator, input: CreateEmbedTokenInput) =>
  db.transaction(async (tx): Promise<{token: EmbedTokenRow; secret: string}> => {
    await findTarget(tx, org, await findVisible(tx, {org, person, rank: role, id: input.template}))
    const origins = (await findSettings(tx, org))?.embedOrigins ?? []
    if (!origins.includes(input.origin))
      throw new Refusal(
        'ORIGIN_NOT_ALLOWED',
        `The org does not list ${input.origin} among its embedOrigins. An admin can add it in the settings`,
      )
    await deleteOldEmbedTokens(tx, org)
    const {secret, hash} = mintSecret(EMBED)
    return {token: await insertEmbedToken(tx, {id: newId('emb'), hash, org, person, apiToken, ...input}), secret}
  })
