import {findImport} from '../../sql/imports.ts'
import {findPlan} from '../../sql/plans.ts'
import {countUnfinished, insertUpload, type Upload} from '../../sql/uploads.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {tooLarge} from '../imports/intake.ts'
import type {ReaderOptions} from '../imports/reader.ts'
import {mostBytesOf, type SourceTools, tellLift} from '../sources/add.ts'
import {lockOpenImport} from '../sources/find.ts'
import {chooseSlot, slotsOf} from '../templates/slots.ts'

/** At a time, of one import. */
const mostUnfinished = 10
/** What all unfinished files of an org come to, in the largest its plan allows. */
const mostLargestFiles = 20

type Begun = {
  org: string
  importId: string
  name: string
  label?: string | undefined
  slot?: string | undefined
  reader?: ReaderOptions | undefined
  size: number
}

/** Begins a file that is sent in pieces. What is known to be refused at its end is refused now: its size, its slot, an import that a run has. */
export const beginUpload = async (
  {db, config}: Pick<SourceTools, 'db' | 'config'>,
  {org, importId, name, label, slot, reader, size}: Begun,
): Promise<Upload> => {
  const {limits} = await findPlan(db, org)
  const maxBytes = mostBytesOf(config, limits)
  if (size > maxBytes && (await findImport(db, {org, id: importId}))) await tellLift(db, org, tooLarge(maxBytes))
  return db.transaction(async tx => {
    const {no: importNo, slots} = await lockOpenImport(tx, {org, importId})
    if (slot !== undefined) chooseSlot(slotsOf({slots}), {named: slot, sources: []})
    const {ofImport, bytesOfOrg} = await countUnfinished(tx, {org, importNo})
    if (ofImport >= mostUnfinished) throw tooMany(`This import is being sent ${ofImport} files`, {limit: mostUnfinished})
    const mostBytes = mostLargestFiles * maxBytes
    if (bytesOfOrg + size > mostBytes)
      throw tooMany(`The files this org is sending come to ${bytesOfOrg.toLocaleString('en')} bytes`, {limitBytes: mostBytes})
    const given = {name, label: label ?? null, slot: slot ?? null, reader: reader ?? null}
    return insertUpload(tx, {id: newId('upl'), org, importNo, ...given, bytes: size})
  })
}

const tooMany = (says: string, extra: object) =>
  new Refusal('UPLOAD_LIMIT', `${says} already: finish one of those uploads, or remove it, before another is begun`, {...extra})
