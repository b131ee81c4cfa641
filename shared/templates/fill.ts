import type {Readable} from 'node:stream'
import type {Tx} from '../../sql/database.ts'
import {findImport} from '../../sql/imports.ts'
import {listSources, type Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import type {Issue} from '../flows/flow.ts'
import type {ReaderOptions} from '../imports/reader.ts'
import {addSheet, addSource, type SourceTools} from '../sources/add.ts'
import type {ReadSource} from '../sources/describe.ts'
import {editSource} from '../sources/edit.ts'
import {findImportSource} from '../sources/find.ts'
import {type Bound, bindWhatFits, refuseUnfit} from './apply.ts'
import {chooseSlot, type ImportSlot, refuseSlot, slotsOf} from './slots.ts'

type OfImport = {org: string; importId: string}
type OnSource = (tx: Tx, source: Source, slot: string | null) => Promise<void>
type File = {
  name: string
  label?: string | undefined
  reader?: ReaderOptions | undefined
  /** The label of the encoding it was sent with. */
  charset?: string | undefined
  body: Readable
  onSource?: OnSource
}
/** One that was taken in already, for the slot that is named. */
type Taken = {sourceId: string}
type Sheet = {fromSource: string; sheet: string; label?: string | undefined}

/** What came of a file for a slot: `state` of the import, the slots that wait, and what does not fit. */
export type Filled = {slot: string; state: string; waiting: string[]; issues: Issue[]}

/**
 * Takes a file in, or another sheet of one, and where it is for a slot of the import's template reads it as that says and puts the flows
 * onto it. A file that does not fit is kept, and the import stays a draft. What the sender states of the reading holds.
 */
export const takeFile = async (
  tools: SourceTools,
  place: OfImport,
  named: string | undefined,
  file: File | Sheet | Taken,
): Promise<{source: ReadSource; filled: Filled | null}> => {
  const slot = await findSlot(tools, place, named)
  const taken = await take(tools, place, file, slot)
  if (!slot) return {source: taken, filled: null}
  const {source, issues: reading} = await readIfItFits(tools, {...place, sourceId: taken.id}, asTaken(slot, file))
  // Unread as it should be, the file must not be written from.
  if (reading.length > 0) return {source, filled: {slot: slot.slot, state: 'draft', waiting: [slot.slot], issues: reading}}
  const sources = [{slot: slot.slot, sourceId: source.id}]
  const {import: bound, waiting, issues} = await tools.db.transaction(tx => bindWhatFits(tx, {...place, sources}))
  return {source, filled: {slot: slot.slot, state: bound.state, waiting, issues}}
}

/** Takes a file in and reads it by the slot's options, not cleaned yet: so its own columns show. Refused where it cannot be read so. */
export const addForSlot = async (tools: SourceTools, place: OfImport, named: string, file: File | Sheet): Promise<Source> => {
  const slot = (await findSlot(tools, place, named))!
  const {id} = await take(tools, place, file, slot)
  return readAsSlot(tools, {...place, sourceId: id}, {...asTaken(slot, file), cleaning: [], choices: {}})
}

/** The rest of how the slot reads it: cleaned, and as chosen. Refused where it has no column that cleaning names. */
export const cleanForSlot = async (tools: SourceTools, place: OfSource, named: string): Promise<Source> => {
  const slot = (await findSlot(tools, place, named))!
  return readAsSlot(tools, place, {...slot, reader: {}} as ImportSlot)
}

/** Files that are here already fill these slots: read as those say, then bound. Refused where they do not fit; how they are read stays then. */
export const fillSlots = async (tools: SourceTools, place: OfImport, bound: Bound[]) => {
  const found = await findImport(tools.db, {org: place.org, id: place.importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const slots = slotsOf(found)
  for (const {slot: named, sourceId} of bound) {
    const slot = slots.find(one => one.slot === named) ?? refuseSlot(slots, named, [named])
    await findImportSource(tools.db, {...place, sourceId})
    await readAsSlot(tools, {...place, sourceId}, slot)
  }
  return tools.db.transaction(async tx => {
    const {import: filled, issues} = await bindWhatFits(tx, {...place, sources: bound})
    if (issues.length > 0) throw refuseUnfit(issues)
    return filled
  })
}

const findSlot = async ({db}: SourceTools, {org, importId}: OfImport, named: string | undefined): Promise<ImportSlot | null> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  return chooseSlot(slotsOf(found), {named, sources: [...(await listSources(db, found.no))]})
}

const take = async (tools: SourceTools, place: OfImport, file: File | Sheet | Taken, slot: ImportSlot | null): Promise<ReadSource> => {
  if ('sourceId' in file) return (await findImportSource(tools.db, {...place, ...file})).source
  if ('fromSource' in file) return addSheet(tools, {...place, ...file, label: file.label ?? slot?.label})
  const {name, label = slot?.label ?? name, reader, charset, body, onSource} = file
  const {kept, reader: ofSlot} = partEncoding(slot?.reader ?? {})
  const stated = slot ? ({...ofSlot, ...reader} as ReaderOptions) : reader
  const named = {charset, kept}
  const told = onSource && ((tx: Tx, source: Source) => onSource(tx, source, slot?.slot ?? null))
  return addSource(tools, {...place, name, label, reader: stated, named, body, onSource: told})
}

/** The encoding a template keeps is not stated for this file: the file itself may show another. */
const partEncoding = (options: ReaderOptions): {kept: string | undefined; reader: ReaderOptions} => {
  if (!('encoding' in options)) return {kept: undefined, reader: options}
  const {encoding: kept, ...reader} = options
  return {kept, reader}
}

/** A file was read by the slot's options when it came in; another sheet of one was not. */
const asTaken = (slot: ImportSlot, file: File | Sheet | Taken): ImportSlot =>
  ({...slot, reader: 'fromSource' in file ? {...slot.reader, sheet: file.sheet} : {}}) as ImportSlot

type OfSource = OfImport & {sourceId: string}

const readIfItFits = async (tools: SourceTools, place: OfSource, slot: ImportSlot): Promise<{source: ReadSource; issues: Issue[]}> => {
  try {
    return {source: await readAsSlot(tools, place, slot), issues: []}
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'INVALID') throw error
    const issues = (error.extra.issues as Issue[] | undefined) ?? [{path: [], message: error.message}]
    return {source: (await findImportSource(tools.db, place)).source, issues}
  }
}

/** Choices for columns that are not there are left out: they decide nothing. */
const readAsSlot = async (tools: SourceTools, place: OfSource, {reader, cleaning, choices}: ImportSlot): Promise<ReadSource> => {
  const {kept, reader: others} = partEncoding(reader)
  return editSource(tools, place, {reader: others, keptEncoding: kept, cleaning, choices, fittingChoices: true})
}
