import {Refusal} from '../shared/errors.ts'
import type {Db} from '../sql/database.ts'
import {isEmbedImport} from '../sql/embed-tokens.ts'
import type {Caller} from './access.ts'

/** Throws if the caller is an embed token that did not create the import in the path. The error is the same as for an unknown import. */
export const assertOwnImport = async (db: Db, {embed, org}: Pick<Caller, 'embed' | 'org'>, importId: string): Promise<void> => {
  if (!embed || (org !== null && (await isEmbedImport(db, {org, id: importId, token: embed.id})))) return
  throw new Refusal('IMPORT_NOT_FOUND', 'There is no such import')
}
