import type {Readable} from 'node:stream'
import type {Pool, Tx} from '../../../sql/database.ts'
import {findPlan, type Limits} from '../../../sql/plans.ts'
import {insertSource, type Source} from '../../../sql/sources.ts'
import {readPlanStatus} from '../../billing/entitlements/plan-status.ts'
import {findRoom} from '../../billing/entitlements/refusal.ts'
import type {Config} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {assertNotCorrection} from '../../runs/corrections/origin.ts'
import type {Storage} from '../../storage/storage.ts'
import {ingest} from '../ingest.ts'
import type {Parsing} from '../parser/pool.ts'
import {Reader, type ReaderOptions} from '../reader.ts'
import type {NamedEncodings} from '../text/sniff.ts'
import type {ReadSource} from './describe.ts'
import {assertOpen, findImportSource, lockOpenImport} from './find.ts'

export type SourceDeps = {db: Pool; storage: Storage; config: Config; parsing: Parsing}
type AddedSource = {
  org: string
  importId: string
  name: string
  label: string
  reader?: ReaderOptions | undefined
  named?: NamedEncodings | undefined
  convertedFrom?: 'query' | undefined
  body: Readable
  /** Runs in the transaction that inserts the source. If the function throws a refusal, neither source nor stored object is kept. */
  onSource?: ((tx: Tx, source: Source) => Promise<void>) | undefined
}

/**
 * Streams a file into storage, then reads the stored file. The source row is inserted last, so that a refused file or an interrupted upload
 * leaves neither row nor object.
 */
export const addSource = async (
  {db, storage, config, parsing}: SourceDeps,
  {org, importId, name, label, reader: stated, named, convertedFrom, body, onSource}: AddedSource,
): Promise<ReadSource> => {
  await assertOpen(db, {org, importId})
  parsing.assertRoom(org)
  const {limits} = await findPlan(db, org)
  const id = newId('src')
  const fileKey = `${org}/${importId}/${id}`
  const maxBytes = mostBytesOf(config, limits)
  const how = {...(stated && {reader: stated}), ...(named && {named})}
  const upload = {body, maxBytes, storage, key: fileKey, convertedFrom, ...how}
  const taken = await ingest(upload, file => parsing.run(org, 'readNew', file)).catch(error => explainLift({db, config}, org, error))
  const {bytes, sha256, found} = taken
  const {findings, corrects, ...read} = found
  try {
    return await db.transaction(async tx => {
      const locked = await lockOpenImport(tx, {org, importId})
      if (corrects) await assertNotCorrection(tx, org, corrects)
      const source = await insertSource(tx, {importNo: locked.no, id, name, label, fileKey, sha256, bytes, ...read})
      await onSource?.(tx, source)
      return {...source, findings}
    })
  } catch (error) {
    // After other errors the commit may have succeeded, so the file is kept. If no row names the file, the periodic listing of storage
    // removes it, also if the removal fails here.
    if (error instanceof Refusal) await storage.remove(fileKey).catch(() => {})
    throw error
  }
}

export const mostBytesOf = (config: Config, limits: Limits) => Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)

/**
 * Rethrows an error. A `FILE_TOO_LARGE` refusal gets as `lift` the trial and the lowest plan that allow a file of `bytes`, by default any larger
 * file. `lift` is empty if this deployment allows no such file.
 */
export const explainLift = async (
  {db, config}: Pick<SourceDeps, 'db' | 'config'>,
  org: string,
  error: unknown,
  bytes?: number,
): Promise<never> => {
  if (!(error instanceof Refusal) || error.code !== 'FILE_TOO_LARGE') throw error
  const planStatus = await readPlanStatus(db, org)
  const wanted = bytes ?? planStatus.plan.limits.fileBytes + 1
  const lift = wanted > config.FILE_LIMIT_BYTES ? [] : await findRoom(db, planStatus, 'fileBytes', wanted)
  throw new Refusal(error.code, error.message, {...error.extra, lift})
}

type AddSheetInput = {org: string; importId: string; fromSource: string; sheet: string; label?: string | undefined}

export const addSheet = async (
  {db, parsing}: SourceDeps,
  {org, importId, fromSource, sheet, label}: AddSheetInput,
): Promise<ReadSource> => {
  const {source} = await findImportSource(db, {org, importId, sourceId: fromSource})
  await assertOpen(db, {org, importId})
  if (Reader.parse(source.reader).format !== 'xlsx')
    throw new Refusal('INVALID', 'Only a workbook has sheets, and this file is CSV. Upload the other file instead')
  const {name, fileKey, sha256, bytes, evidence} = source
  const {findings, corrects, ...read} = await parsing.run(org, 'readSheet', {fileKey, sheet, evidence})
  return db.transaction(async tx => {
    const locked = await lockOpenImport(tx, {org, importId})
    // The stored file is deleted with its last source. So this transaction checks again that the source exists.
    await findImportSource(tx, {org, importId, sourceId: fromSource})
    if (corrects) await assertNotCorrection(tx, org, corrects)
    const title = label ?? `${name}: ${sheet}`.slice(0, 255)
    const made = {importNo: locked.no, id: newId('src'), name, label: title, fileKey, sha256, bytes, ...read}
    return {...(await insertSource(tx, made)), findings}
  })
}
