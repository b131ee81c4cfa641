import {isDeepStrictEqual} from 'node:util'
import type {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import type {Parsing} from '../../shared/parsing/pool.ts'
import {recordImport} from '../../shared/runs/import-change.ts'
import type {Ground} from '../../shared/schedules/standing.ts'
import {findUndecided} from '../../shared/sources/assert-text.ts'
import {evidenceOf} from '../../shared/sources/evidence.ts'
import {makeImport} from '../../shared/templates/apply.ts'
import {addForSlot, cleanForSlot} from '../../shared/templates/fill.ts'
import {documentOf, type Slot} from '../../shared/templates/template.ts'
import type {Tx} from '../../sql/database.ts'
import {deleteUnused, type Firing, setFiringImport} from '../../sql/firings.ts'
import type {Import} from '../../sql/imports.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {Source} from '../../sql/sources.ts'
import type {Work} from '../worker.ts'
import type {Fetched} from './fetch.ts'
import {Superseded} from './lease.ts'

/**
 * The template's slots in order, each with the source that fills it and the columns of that source's file. `undecided`: a refusal that asks a person
 * how to read the file's text.
 */
export type Filled = {slot: string; sourceId: string; columns: string[]; undecided: Refusal | null}[]
type Reading = Work & {parsing: Parsing}
type Given = {firing: Firing; schedule: Schedule; ground: Ground; fetched: Fetched}

/** Makes an import with the file in every slot, not cleaned yet. If the file cannot be read, the import and the file are deleted. */
export const makeFilled = async (work: Reading, given: Given): Promise<{made: Import; filled: Filled}> => {
  const made = await make(work, given)
  atPoint('after_import')
  try {
    return {made, filled: await fill(work, given, made)}
  } catch (error) {
    await discard(work, {org: made.org, importId: made.id})
    throw error
  }
}

/** Each file the way its slot reads it. */
export const clean = async (work: Reading, place: {org: string; importId: string}, filled: Filled): Promise<void> => {
  for (const [at, {slot, sourceId}] of filled.entries())
    if (filled.findIndex(other => other.sourceId === sourceId) === at) await cleanForSlot(work, {...place, sourceId}, slot)
}

/** What an attempt left that got no further, unless somebody has run it meanwhile. Files it names are written down for removal as it goes. */
export const discard = async ({db, storage}: Pick<Work, 'db' | 'storage'>, place: {org: string; importId: string}) => {
  if (await db.transaction(tx => deleteRecorded(tx, place))) await storage.removeAll(`${place.org}/${place.importId}`)
}

const deleteRecorded = async (tx: Tx, {org, importId}: {org: string; importId: string}): Promise<boolean> => {
  const {deleted, isGone} = await deleteUnused(tx, {org, importId})
  const change = {subject: 'import.deleted', before: {importId}, after: null}
  if (deleted) await recordImport(tx, {org, via: 'schedule'}, deleted, change)
  return isGone
}

const make = ({db}: Work, {firing, schedule, ground, fetched}: Given): Promise<Import & {org: string}> =>
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

const fill = async (work: Reading, {schedule, ground, fetched}: Given, {id: importId}: Import): Promise<Filled> => {
  const slots = documentOf(ground.template).sources
  const sources: Source[] = []
  for (const [at, slot] of slots.entries()) {
    const same = slots.slice(0, at).findIndex(other => readsAlike(other, slot))
    sources.push(sources[same] ?? (await add(work, {org: schedule.org, importId}, {slot, fetched, first: sources[0]})))
  }
  return sources.map((source, at) => ({
    ...{slot: slots[at]!.slot, sourceId: source.id},
    ...{columns: columnsOf(source), undecided: findUndecided(source)},
  }))
}

const readsAlike = (one: Slot, other: Slot) =>
  (['reader', 'cleaning', 'choices'] as const).every(part => isDeepStrictEqual(one[part], other[part]))

type Added = {slot: Slot; fetched: Fetched; first: Source | undefined}

/** If the workbook is stored already, its other sheets are read from the stored file. */
const add = (work: Reading, place: {org: string; importId: string}, {slot, fetched, first}: Added) => {
  const {slot: named, label, reader} = slot
  if (first && 'sheet' in reader && reader.sheet !== undefined)
    return addForSlot(work, place, named, {fromSource: first.id, sheet: reader.sheet, label})
  // A server often names a charset for all its files: what a person chose for the template comes first.
  const charset = 'encoding' in reader ? undefined : fetched.charset
  return addForSlot(work, place, named, {name: fetched.name, label, charset, body: fetched.file.open()!})
}

const columnsOf = (source: Source) => {
  const {columns, fileColumns} = evidenceOf(source)
  return fileColumns ?? columns.map(({name}) => name)
}
