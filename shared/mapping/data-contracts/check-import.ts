import type {Db} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import {listSources} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {slotsOf} from '../templates/slots.ts'
import type {Breach} from './breach.ts'
import {checkFiles} from './check-files.ts'
import {readContract} from './store.ts'

type CheckDeps = {db: Db; parsing: Parsing}

/** Breaches do not block the import: the person who starts the import decides. An import without a template has contract version 0. */
export const checkImport = async (
  {db, parsing}: CheckDeps,
  {org, importId}: {org: string; importId: string},
): Promise<{version: number; breaches: Breach[]}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted')
  if (found.templateId === null) return {version: 0, breaches: []}
  const contract = await readContract(db, {org, template: found.templateId})
  const sources = contract.sources.length === 0 ? [] : await listSources(db, found.no)
  const files = slotsOf(found).flatMap(({slot, sourceId}) => {
    const source = sources.find(({id}) => id === sourceId)
    return source ? [{slot, source}] : []
  })
  const breaches = await checkFiles({db, parsing}, {org, template: found.templateId, connector: found.connectorId, contract, files})
  return {version: contract.version, breaches}
}
