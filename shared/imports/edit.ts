import type {Pool, Tx} from '../../sql/database.ts'
import {expireImport} from '../../sql/expiry.ts'
import {type Import, lockImport, setImportArchived, setImportName} from '../../sql/imports.ts'
import {findDryRun} from '../../sql/runs.ts'
import type {Author} from '../configuration/change.ts'
import {assertVersion, type Condition} from '../configuration/version.ts'
import {Refusal} from '../errors.ts'
import {freeImport} from '../runs/external/run.ts'
import {recordImport} from './change.ts'

type ImportRef = {org: string; id: string}

type EditInput = {id: string; name?: string | undefined; archived?: boolean | undefined; condition: Condition}

/** Renames, archives or unarchives an import. A value that stays the same makes no new version and no entry in the settings history. */
export const editImport = (db: Pool, author: Author, {id, name, archived, condition}: EditInput): Promise<Import> =>
  db.transaction(async tx => {
    const found = await lock(tx, {org: author.org, id})
    assertVersion('import', found, condition)
    const wasArchived = found.archivedAt !== null
    let edited = found
    if (name !== undefined && name !== found.name) {
      await recordImport(tx, author, found, {subject: 'import.renamed', before: found.name, after: name})
      edited = await setImportName(tx, {no: found.no, name})
    }
    if (archived !== undefined && archived !== wasArchived) {
      await recordImport(tx, author, edited, {subject: 'import.archived', before: wasArchived, after: archived})
      edited = await setImportArchived(tx, {no: found.no, archived})
    }
    return edited
  })

/** Hides the import immediately. `workers/retention.ts` later deletes its rows and files, as for an expired import. */
export const deleteImport = (db: Pool, author: Author, input: DeleteInput): Promise<void> =>
  db.transaction(tx => deleteImportIn(tx, author, input))

type DeleteInput = {id: string; admin: boolean}

/** Deletes an import as `deleteImport` does, in the caller's transaction. Throws IMPORT_RUNNING while a run or dry run is in progress. */
export const deleteImportIn = async (tx: Tx, author: Author, {id, admin}: DeleteInput): Promise<void> => {
  const {org} = author
  const found = await lock(tx, {org, id})
  const {no, createdBy} = found
  if (createdBy !== author.person && !admin)
    throw new Refusal('ROLE_REQUIRED', 'Only the member who created this import, or an admin, can delete it')
  await freeImport(tx, {org, importNo: no})
  if ((await findDryRun(tx, {importNo: no})) !== null)
    throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is in progress. Wait for it to end, or cancel it')
  await recordImport(tx, author, found, {subject: 'import.deleted', before: {importId: id}, after: null})
  await expireImport(tx, {no, deleted: true})
}

const lock = async (tx: Tx, importRef: ImportRef): Promise<Import> => {
  const found = await lockImport(tx, importRef)
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  return found
}
