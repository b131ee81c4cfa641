import {findImport} from '../../../sql/imports.ts'
import {findPlan} from '../../../sql/plans.ts'
import {countUnfinished, insertUpload, type UploadRow} from '../../../sql/uploads.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {chooseSlot, slotsOf} from '../../mapping/templates/slots.ts'
import {tooLarge} from '../ingest.ts'
import type {ReaderOptions} from '../reader.ts'
import {explainLift, mostBytesOf, type SourceDeps} from '../sources/add.ts'
import {lockOpenImport} from '../sources/find.ts'

const mostUnfinished = 10
/** Maximum total bytes of an org's unfinished uploads, as a multiple of the largest file that plan and deployment allow. */
const mostLargestFiles = 20

type BeginUploadInput = {
  org: string
  importId: string
  name: string
  label?: string | undefined
  slot?: string | undefined
  reader?: ReaderOptions | undefined
  size: number
}

/**
 * Before any part is sent, checks the size, the template slot and that no run on the import is active. Throws `UPLOAD_LIMIT` if the import has ten
 * unfinished uploads, or if the org's unfinished uploads have too many bytes.
 */
export const beginUpload = async (
  {db, config}: Pick<SourceDeps, 'db' | 'config'>,
  {org, importId, name, label, slot, reader, size}: BeginUploadInput,
): Promise<UploadRow> => {
  const {limits} = await findPlan(db, org)
  const maxBytes = mostBytesOf(config, limits)
  if (size > maxBytes && (await findImport(db, {org, id: importId}))) await explainLift({db, config}, org, tooLarge(maxBytes), size)
  return db.transaction(async tx => {
    const {no: importNo, slots} = await lockOpenImport(tx, {org, importId})
    if (slot !== undefined) chooseSlot(slotsOf({slots}), {named: slot, sources: []})
    const {ofImport, bytesOfOrg} = await countUnfinished(tx, {org, importNo})
    if (ofImport >= mostUnfinished) throw tooMany(`This import has ${ofImport} unfinished uploads`, {limit: mostUnfinished})
    const mostBytes = mostLargestFiles * maxBytes
    if (bytesOfOrg + size > mostBytes)
      throw tooMany(`The unfinished uploads of this org have ${bytesOfOrg.toLocaleString('en')} bytes`, {limitBytes: mostBytes})
    const given = {name, label: label ?? null, slot: slot ?? null, reader: reader ?? null}
    return insertUpload(tx, {id: newId('upl'), org, importNo, ...given, bytes: size})
  })
}

const tooMany = (says: string, extra: object) =>
  new Refusal('UPLOAD_LIMIT', `${says} already. Finish or remove one of them before you begin another`, {...extra})
