import type {Pool, Tx} from '../../sql/database.ts'
import {expireImport} from '../../sql/expiry.ts'
import {type Import, lockImport, setImportName} from '../../sql/imports.ts'
import {findRehearsal} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {assertVersion, type Condition} from '../registry/version.ts'
import {freeImport} from './outside.ts'

type Named = {org: string; id: string}

/** Under another name, whatever is being done with it; the same name is no new version. */
export const renameImport = (db: Pool, named: Named, {name, condition}: {name: string; condition: Condition}): Promise<Import> =>
  db.transaction(async tx => {
    const found = await lock(tx, named)
    assertVersion('import', found, condition)
    return setImportName(tx, {no: found.no, name})
  })

/** Nobody sees it from here on. Its rows and files go by and by (`workers/retention.ts`), as those of an expired one do. */
export const deleteImport = (db: Pool, named: Named, {person, admin}: {person: string; admin: boolean}): Promise<void> =>
  db.transaction(async tx => {
    const {no, createdBy} = await lock(tx, named)
    if (createdBy !== person && !admin) throw new Refusal('ROLE_REQUIRED', 'Only whoever made this import, or an admin, deletes it')
    await freeImport(tx, {org: named.org, importNo: no})
    if ((await findRehearsal(tx, {importNo: no})) !== null)
      throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is under way: wait for it or cancel it')
    await expireImport(tx, {no, deleted: true})
  })

const lock = async (tx: Tx, named: Named): Promise<Import> => {
  const found = await lockImport(tx, named)
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  return found
}
