import type {Readable} from 'node:stream'
import type {Pool, Tx} from '../../sql/database.ts'
import {findPlan, type Limits} from '../../sql/plans.ts'
import {insertSource, type Source} from '../../sql/sources.ts'
import type {Config} from '../config.ts'
import {findRoom} from '../entitlements/refusal.ts'
import {readStanding} from '../entitlements/standing.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {takeIn} from '../imports/intake.ts'
import {Reader, type ReaderOptions} from '../imports/reader.ts'
import type {NamedEncodings} from '../imports/sniff.ts'
import type {Parsing} from '../parsing/pool.ts'
import type {Storage} from '../storage.ts'
import type {ReadSource} from './describe.ts'
import {assertOpen, findImportSource, lockOpenImport} from './find.ts'

export type SourceTools = {db: Pool; storage: Storage; config: Config; parsing: Parsing}
type Added = {
  org: string
  importId: string
  name: string
  label: string
  reader?: ReaderOptions | undefined
  named?: NamedEncodings | undefined
  body: Readable
  /** In the transaction that writes the row: a refusal it throws leaves neither row nor object. */
  onSource?: ((tx: Tx, source: Source) => Promise<void>) | undefined
}

/**
 * Streams a file into storage and reads it there. The row is written last: a file that is refused, or an upload that
 * breaks off, leaves neither row nor object.
 */
export const addSource = async (
  {db, storage, config, parsing}: SourceTools,
  {org, importId, name, label, reader: stated, named, body, onSource}: Added,
): Promise<ReadSource> => {
  await assertOpen(db, {org, importId})
  parsing.assertRoom(org)
  const {limits} = await findPlan(db, org)
  const id = newId('src')
  const fileKey = `${org}/${importId}/${id}`
  const maxBytes = mostBytesOf(config, limits)
  const how = {...(stated && {reader: stated}), ...(named && {named})}
  const upload = {body, maxBytes, storage, key: fileKey, ...how}
  const taken = await takeIn(upload, file => parsing.run(org, 'readNew', file)).catch(error => tellLift(db, org, error))
  const {bytes, sha256, found} = taken
  const {findings, ...read} = found
  try {
    return await db.transaction(async tx => {
      const locked = await lockOpenImport(tx, {org, importId})
      const source = await insertSource(tx, {importNo: locked.no, id, name, label, fileKey, sha256, bytes, ...read})
      await onSource?.(tx, source)
      return {...source, findings}
    })
  } catch (error) {
    // Where nobody knows whether it was committed, the file stays: one that no row names is found by the listing.
    if (error instanceof Refusal) await storage.remove(fileKey)
    throw error
  }
}

/** What a file of an org may have: by its plan, and by this deployment. */
export const mostBytesOf = (config: Config, limits: Limits) => Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)

/** Where it is the plan that has no room for the file, with the plan that has. */
export const tellLift = async (db: Pool, org: string, error: unknown): Promise<never> => {
  if (!(error instanceof Refusal) || error.code !== 'FILE_TOO_LARGE') throw error
  const standing = await readStanding(db, org)
  const lift = await findRoom(db, standing, 'fileBytes', standing.plan.limits.fileBytes + 1)
  throw new Refusal(error.code, error.message, {...error.extra, lift})
}

type AddSheetInput = {org: string; importId: string; fromSource: string; sheet: string; label?: string | undefined}

/** Adds another sheet of a stored workbook as a source. */
export const addSheet = async (
  {db, parsing}: SourceTools,
  {org, importId, fromSource, sheet, label}: AddSheetInput,
): Promise<ReadSource> => {
  const {source} = await findImportSource(db, {org, importId, sourceId: fromSource})
  await assertOpen(db, {org, importId})
  if (Reader.parse(source.reader).format !== 'xlsx')
    throw new Refusal('INVALID', 'Only a workbook has sheets: this file is CSV. Send the other file itself')
  const {name, fileKey, sha256, bytes, evidence} = source
  const {findings, ...read} = await parsing.run(org, 'readSheet', {fileKey, sheet, evidence})
  return db.transaction(async tx => {
    const locked = await lockOpenImport(tx, {org, importId})
    // The file goes with its last source: there must still be one.
    await findImportSource(tx, {org, importId, sourceId: fromSource})
    const title = label ?? `${name}: ${sheet}`.slice(0, 255)
    const made = {importNo: locked.no, id: newId('src'), name, label: title, fileKey, sha256, bytes, ...read}
    return {...(await insertSource(tx, made)), findings}
  })
}
