import type {Pool, Tx} from '../../sql/database.ts'
import {expireImport} from '../../sql/expiry.ts'
import {type Import, lockImport, setImportName} from '../../sql/imports.ts'
import {findRehearsal} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import type {Author} from '../registry/change.ts'
import {assertVersion, type Condition} from '../registry/version.ts'
import {recordImport} from './import-change.ts'
import {freeImport} from './outside.ts'

type Named = {org: string; id: string}

type RenameInput = {id: string; name: string; condition: Condition}

/** The same name makes no new version and is not recorded. */
export const renameImport = (db: Pool, author: Author, {id, name, condition}: RenameInput): Promise<Import> =>
  db.transaction(async tx => {
    const found = await lock(tx, {org: author.org, id})
    assertVersion('import', found, condition)
    if (found.name !== name) await recordImport(tx, author, found, {subject: 'import.renamed', before: found.name, after: name})
    return setImportName(tx, {no: found.no, name})
  })

/** Nobody sees it from here on. Its rows and files go by and by (`workers/retention.ts`), as those of an expired one do. */
export const deleteImport = (db: Pool, author: Author, {id, admin}: {id: string; admin: boolean}): Promise<void> =>
  db.transaction(async tx => {
    const {org} = author
    const found = await lock(tx, {org, id})
    const {no, createdBy} = found
    if (createdBy !== author.person && !admin) throw new Refusal('ROLE_REQUIRED', 'Only whoever made this import, or an admin, deletes it')
    await freeImport(tx, {org, importNo: no})
    if ((await findRehearsal(tx, {importNo: no})) !== null)
      throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is under way: wait for it or cancel it')
    await recordImport(tx, author, found, {subject: 'import.deleted', before: {importId: id}, after: null})
    await expireImport(tx, {no, deleted: true})
  })

const lock = async (tx: Tx, named: Named): Promise<Import> => {
  const found = await lockImport(tx, named)
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  return found
}
