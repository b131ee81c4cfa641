import {Refusal} from '../shared/errors.ts'
import type {Db} from '../sql/database.ts'
import {isEmbedImport} from '../sql/embed-tokens.ts'
import {isUndo} from '../sql/undo.ts'
import type {Caller} from './access.ts'

type EmbedCaller = Pick<Caller, 'embed' | 'org'>

/**
 * Throws if the caller is an embed token that did not create the import in the path, or if the run in the path is closed to it. The error equals
 * that of an unknown import or run.
 */
export const assertOwnImport = async (db: Db, caller: EmbedCaller, {id, run}: {id: string; run?: string}): Promise<void> => {
  const {embed, org} = caller
  if (!embed) return
  if (org === null || !(await isEmbedImport(db, {org, id, token: embed.id})))
    throw new Refusal('IMPORT_NOT_FOUND', 'There is no such import')
  if (run !== undefined) await assertNoUndo(db, caller, run)
}

/** Throws if the caller is an embed token and the run is an undo, because an undo shows the values that records held before. */
export const assertNoUndo = async (db: Db, {embed, org}: EmbedCaller, run: string): Promise<void> => {
  if (embed && org !== null && (await isUndo(db, {org, id: run}))) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
}

/** Whether the caller may read the CRM: its values and the URLs of records. The holder of an embed token may not. */
export const mayReadCrm = ({embed}: Pick<Caller, 'embed'>) => embed === null
