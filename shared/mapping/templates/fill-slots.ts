import type {Readable} from 'node:stream'
import type {Tx} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import {listSources, type Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import type {ReaderOptions} from '../../files/reader.ts'
import {addSheet, addSource, type SourceDeps} from '../../files/sources/add.ts'
import type {ReadSource} from '../../files/sources/describe.ts'
import {editSource} from '../../files/sources/edit.ts'
import {findImportSource} from '../../files/sources/find.ts'
import type {Issue} from '../flows/flow.ts'
import {type BoundSources, bindWhatFits, refuseUnfit} from './apply.ts'
import {chooseSlot, type ImportSlot, refuseSlot, slotsOf} from './slots.ts'

type OfImport = {org: string; importId: string}
type OnSource = (tx: Tx, source: Source, slot: string | null) => Promise<void>
type File = {
  name: string
  label?: string | undefined
  reader?: ReaderOptions | undefined
  /** Set if Lading wrote the body from the rows of a query. Neither `reader` nor the options of the slot apply to it. */
  convertedFrom?: 'query' | undefined
  /** The charset of the request's content type. */
  charset?: string | undefined
  body: Readable
  onSource?: OnSource
}
/** A file that is already in the import, for the named slot. */
type TakenFile = {sourceId: string}
type Sheet = {fromSource: string; sheet: string; label?: string | undefined}

/**
 * The result of filling a slot. `state`: that of the import. `waiting`: the slots without a file, such as this slot if its file could not be
 * read as the slot defines. `issues`: what does not fit.
 */
export type FilledSlot = {slot: string; state: string; waiting: string[]; issues: Issue[]}

/**
 * Adds a file, or another sheet of a workbook, to an import. If the template has a slot for the file, reads the file as the slot defines and points
 * the slot's flows at the file. A file that does not fit is kept, and the import becomes a draft. Reader options of the request take precedence.
 */
export const addFile = async (
  deps: SourceDeps,
  place: OfImport,
  named: string | undefined,
  file: File | Sheet | TakenFile,
): Promise<{source: ReadSource; filled: FilledSlot | null}> => {
  const slot = await findSlot(deps, place, named)
  const taken = await takeForSlot(deps, place, file, slot)
  if (!slot) return {source: taken, filled: null}
  const {source, issues: reading} = await readIfItFits(deps, {...place, sourceId: taken.id}, takenFileOf(slot, file))
  // A file that could not be read as the slot defines is not bound to flows. The slot loses its earlier file, so that no run imports that file.
  const sources = [{slot: slot.slot, sourceId: reading.length > 0 ? null : source.id}]
  const {import: bound, waiting, issues} = await deps.db.transaction(tx => bindWhatFits(tx, {...place, sources}))
  return {source, filled: {slot: slot.slot, state: bound.state, waiting, issues: [...reading, ...issues]}}
}

/**
 * Adds a file and reads it with the slot's reader options. Leaves out the slot's cleaning, so that the file's own columns show. Throws if
 * the file cannot be read with these options.
 */
export const addForSlot = async (deps: SourceDeps, place: OfImport, named: string, file: File | Sheet): Promise<Source> => {
  const slot = (await findSlot(deps, place, named))!
  const {id} = await takeForSlot(deps, place, file, slot)
  return readAsSlot(deps, {...place, sourceId: id}, {...takenFileOf(slot, file), cleaning: [], choices: {}})
}

/** Applies the slot's cleaning and choices. Throws if a column that cleaning names is missing. */
export const cleanForSlot = async (deps: SourceDeps, place: OfSource, named: string): Promise<Source> => {
  const slot = (await findSlot(deps, place, named))!
  return readAsSlot(deps, place, withoutReader(slot))
}

const withoutReader = (slot: ImportSlot): ImportSlot => ({...slot, reader: {}}) as ImportSlot

/**
 * Reads the files with the options of the slots, then binds them. Throws if the files do not fit, but keeps the new reading. Files that Lading
 * converted to CSV keep their reader options.
 */
export const fillSlots = async (deps: SourceDeps, place: OfImport, bound: BoundSources[]) => {
  const found = await findImport(deps.db, {org: place.org, id: place.importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const slots = slotsOf(found)
  for (const {slot: named, sourceId} of bound) {
    const slot = slots.find(one => one.slot === named) ?? refuseSlot(slots, named, [named])
    await findImportSource(deps.db, {...place, sourceId})
    await readAsSlot(deps, {...place, sourceId}, slot)
  }
  return deps.db.transaction(async tx => {
    const {import: filled, issues} = await bindWhatFits(tx, {...place, sources: bound})
    if (issues.length > 0) throw refuseUnfit(issues)
    return filled
  })
}

const readSlots = async ({db}: SourceDeps, {org, importId}: OfImport) => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  return {slots: slotsOf(found), sources: await listSources(db, found.no)}
}

const findSlot = async (deps: SourceDeps, place: OfImport, named: string | undefined): Promise<ImportSlot | null> => {
  const {slots, sources} = await readSlots(deps, place)
  return chooseSlot(slots, {named, sources})
}

const takeForSlot = async (
  deps: SourceDeps,
  place: OfImport,
  file: File | Sheet | TakenFile,
  slot: ImportSlot | null,
): Promise<ReadSource> => {
  if ('sourceId' in file) return (await findImportSource(deps.db, {...place, ...file})).source
  if ('fromSource' in file) return addSheet(deps, {...place, ...file, label: file.label ?? slot?.label})
  const {name, label = slot?.label ?? name, reader, convertedFrom, charset, body, onSource} = file
  const {kept, reader: ofSlot} = partEncoding(slot?.reader ?? {})
  const stated = slot ? ({...ofSlot, ...reader} as ReaderOptions) : reader
  const how = convertedFrom ? {convertedFrom} : {reader: stated, named: {charset, kept}}
  const onSlotSource = onSource && ((tx: Tx, source: Source) => onSource(tx, source, slot?.slot ?? null))
  return addSource(deps, {...place, name, label, ...how, body, onSource: onSlotSource})
}

/** Separates the slot's encoding from the other options, because the file itself may show another encoding. */
const partEncoding = (options: ReaderOptions): {kept: string | undefined; reader: ReaderOptions} => {
  if (!('encoding' in options)) return {kept: undefined, reader: options}
  const {encoding: kept, ...reader} = options
  return {kept, reader}
}

/**
 * Returns the slot with the reader options still to apply. A new file was already read with the slot's options; another sheet of a workbook was not.
 */
const takenFileOf = (slot: ImportSlot, file: File | Sheet | TakenFile): ImportSlot =>
  ({...slot, reader: 'fromSource' in file ? {...slot.reader, sheet: file.sheet} : {}}) as ImportSlot

type OfSource = OfImport & {sourceId: string}

/** The refusals of a file that the slot's reader or cleaning cannot read. The same file would be refused again. */
const unreadableFileCodes = ['INVALID', 'UNREADABLE', 'FILE_EMPTY', 'FILE_NO_ROWS', 'FILE_TOO_SLOW']

const readIfItFits = async (deps: SourceDeps, place: OfSource, slot: ImportSlot): Promise<{source: ReadSource; issues: Issue[]}> => {
  try {
    return {source: await readAsSlot(deps, place, slot), issues: []}
  } catch (error) {
    if (!(error instanceof Refusal) || !unreadableFileCodes.includes(error.code)) throw error
    const issues = (error.extra.issues as Issue[] | undefined) ?? [{path: [], message: error.message}]
    return {source: (await findImportSource(deps.db, place)).source, issues}
  }
}

/** Leaves out choices for columns that the file does not have. */
const readAsSlot = async (deps: SourceDeps, place: OfSource, {reader, cleaning, choices}: ImportSlot): Promise<ReadSource> => {
  const {kept, reader: others} = partEncoding(reader)
  return editSource(deps, place, {reader: others, keptEncoding: kept, cleaning, choices, fromSlot: true})
}
