import type {Parsing} from '../../shared/files/parser/pool.ts'
import {type Breach, findMissingColumns} from '../../shared/mapping/data-contracts/breach.ts'
import {checkFiles} from '../../shared/mapping/data-contracts/check-files.ts'
import {isBare} from '../../shared/mapping/data-contracts/contract.ts'
import {documentOf} from '../../shared/mapping/templates/template.ts'
import type {Db} from '../../sql/database.ts'
import {isDiscarded} from '../../sql/held-files.ts'
import type {Import} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import type {Work} from '../worker.ts'
import type {ReadyFiring} from './execute-firing.ts'
import type {FilledSource} from './make-import.ts'

/** Whether a person discarded this file under the same template and contract. False if the firing has `again`. */
export const isDiscardedFile = async (db: Db, {firing, schedule, ground, contract, fetched}: ReadyFiring): Promise<boolean> =>
  !firing.again &&
  (await isDiscarded(db, {
    schedule: schedule.id,
    sha256: fetched.sha256,
    templateVersion: ground.template.version,
    contractVersion: contract.version,
  }))

/** Returns the expected columns that the files lack and that no split adds. Call it before the cleaning, which may need these columns. */
export const findMissing = ({ground, contract}: ReadyFiring, filled: FilledSource): Breach[] => {
  const slots = documentOf(ground.template).sources
  return contract.sources.flatMap(expected => {
    const file = filled.find(({slot}) => slot === expected.slot)
    const slot = slots.find(one => one.slot === expected.slot)
    if (!file || !slot) return []
    const added = slot.cleaning.flatMap(step => (step.step === 'split' ? step.into : []))
    return findMissingColumns(expected, {label: slot.label, names: [...file.columns, ...added], fileColumns: file.columns})
  })
}

/** Checks the cleaned files against the data contract. Reads no file if the contract expects nothing. */
export const checkContract = async (
  {db, parsing}: Work & {parsing: Parsing},
  {ground, schedule, contract}: ReadyFiring,
  {made, filled}: {made: Import; filled: FilledSource},
): Promise<Breach[]> => {
  if (isBare(contract)) return []
  const sources = await listSources(db, made.no)
  const files = filled.map(({slot, sourceId}) => ({slot, source: sources.find(({id}) => id === sourceId)!}))
  return checkFiles({db, parsing}, {org: schedule.org, template: ground.template.id, connector: made.connectorId, contract, files})
}
