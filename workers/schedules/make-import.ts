import {isDeepStrictEqual} from 'node:util'
import {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import type {Parsing} from '../../shared/files/parser/pool.ts'
import {findUndecided} from '../../shared/files/sources/assert-text.ts'
import {evidenceOf} from '../../shared/files/sources/evidence.ts'
import {recordImport} from '../../shared/imports/change.ts'
import {bindSources, makeImport} from '../../shared/mapping/templates/apply.ts'
import {addForSlot, cleanForSlot} from '../../shared/mapping/templates/fill-slots.ts'
import {documentOf, type TemplateSlot} from '../../shared/mapping/templates/template.ts'
import type {ScheduleStatus} from '../../shared/schedules/schedule-status.ts'
import type {Tx} from '../../sql/database.ts'
import {deleteUnused, type Firing, setFiringImport} from '../../sql/firings.ts'
import type {Import} from '../../sql/imports.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {Source} from '../../sql/sources.ts'
import type {Work} from '../worker.ts'
import type {FetchedFile} from './fetch.ts'
import {Superseded} from './lease.ts'

/**
 * The template's slots in order, each with the source that fills it and the columns of that source's file. `undecided`: a refusal if a
 * person must choose how to read the file's text.
 */
export type FilledSource = {slot: string; sourceId: string; columns: string[]; undecided: Refusal | null}[]
type MakeDeps = Work & {parsing: Parsing}
type MakeInput = {firing: Firing; schedule: Schedule; ground: ScheduleStatus; fetched: FetchedFile}

/** Makes an import with the file in every template slot, not cleaned yet. If the file cannot be read, the import and the file are deleted. */
export const makeFilled = async (work: MakeDeps, input: MakeInput): Promise<{made: Import; filled: FilledSource}> => {
  const made = await make(work, input)
  atPoint('after_import')
  try {
    return {made, filled: await fill(work, input, made)}
  } catch (error) {
    await discard(work, {org: made.org, importId: made.id})
    throw error
  }
}

export const clean = async (work: MakeDeps, place: {org: string; importId: string}, filled: FilledSource): Promise<void> => {
  for (const [at, {slot, sourceId}] of filled.entries())
    if (filled.findIndex(other => other.sourceId === sourceId) === at) await cleanForSlot(work, {...place, sourceId}, slot)
}

/** Binds the flows to the files. Throws if they do not fit. */
export const bindFilled = (tx: Tx, place: {org: string; importId: string}, filled: FilledSource) =>
  bindSources(tx, {...place, sources: filled.map(({slot, sourceId}) => ({slot, sourceId}))})

/**
 * Cleans files whose encoding is uncertain, and binds the flows to the files. If the files do not fit, binds nothing and does not throw, because a
 * wrong encoding garbles column names. When a person later fills the template slots, the files are read as the slots define.
 */
export const cleanAndBind = async (work: MakeDeps, place: {org: string; importId: string}, filled: FilledSource): Promise<void> => {
  try {
    await clean(work, place, filled)
    await work.db.transaction(tx => bindFilled(tx, place, filled))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

/**
 * Deletes the import of a failed attempt, unless it was run meanwhile. Its files are listed for removal in the same transaction, so the storage may
 * fail here.
 */
export const discard = async ({db, storage}: Pick<Work, 'db' | 'storage'>, place: {org: string; importId: string}) => {
  if (await db.transaction(tx => deleteRecorded(tx, place))) await storage.removeAll(`${place.org}/${place.importId}`).catch(() => {})
}

const deleteRecorded = async (tx: Tx, {org, importId}: {org: string; importId: string}): Promise<boolean> => {
  const {deleted, isGone} = await deleteUnused(tx, {org, importId})
  const change = {subject: 'import.deleted', before: {importId}, after: null}
  if (deleted) await recordImport(tx, {org, via: 'schedule'}, deleted, change)
  return isGone
}

const make = ({db}: Work, {firing, schedule, ground, fetched}: MakeInput): Promise<Import & {org: string}> =>
  db.transaction(async tx => {
    const {org} = schedule
    const {template, person, connector} = ground
    const name = `${schedule.name}, ${firing.dueAt.slice(0, 16).replace('T', ' ')} UTC`
    const made = await makeImport(tx, {org, person, template, connectorId: connector, name})
    const of = {importNo: made.no, sha256: fetched.sha256, templateVersion: template.version}
    if (!(await setFiringImport(tx, firing, of))) throw new Superseded()
    const after = {importId: made.id, templateId: made.templateId}
    await recordImport(tx, {org, via: 'schedule'}, made, {subject: 'import.created', before: null, after})
    return {...made, org}
  })

const fill = async (work: MakeDeps, {schedule, ground, fetched}: MakeInput, {id: importId}: Import): Promise<FilledSource> => {
  const slots = documentOf(ground.template).sources
  const sources: Source[] = []
  for (const [at, slot] of slots.entries()) {
    const same = slots.slice(0, at).findIndex(other => readsAlike(other, slot))
    sources.push(sources[same] ?? (await add(work, {org: schedule.org, importId}, {slot, fetched, first: sources[0]})))
  }
  return sources.map((source, at) => ({
    slot: slots[at]!.slot,
    sourceId: source.id,
    columns: columnsOf(source),
    undecided: findUndecided({...source, evidence: evidenceOf(source)}),
  }))
}

const readsAlike = (one: TemplateSlot, other: TemplateSlot) =>
  (['reader', 'cleaning', 'choices'] as const).every(part => isDeepStrictEqual(one[part], other[part]))

type AddSourceInput = {slot: TemplateSlot; fetched: FetchedFile; first: Source | undefined}

/** Adds the file to a template slot. If the workbook is stored already, its other sheets are read from the stored file. */
const add = (work: MakeDeps, place: {org: string; importId: string}, {slot, fetched, first}: AddSourceInput) => {
  const {slot: named, label, reader} = slot
  const {name, convertedFrom, file} = fetched
  if (first && !convertedFrom && 'sheet' in reader && reader.sheet !== undefined)
    return addForSlot(work, place, named, {fromSource: first.id, sheet: reader.sheet, label})
  // The encoding chosen in the template takes precedence, because servers often send one charset for all files.
  const charset = 'encoding' in reader ? undefined : fetched.charset
  return addForSlot(work, place, named, {name, label, charset, convertedFrom, body: file.open()!})
}

const columnsOf = (source: Source) => {
  const {columns, fileColumns} = evidenceOf(source)
  return fileColumns ?? columns.map(({name}) => name)
}
