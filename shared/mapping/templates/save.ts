import type {z} from 'zod'
import type {Db} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {Choices} from '../../files/choices.ts'
import {Cleaning, namesRows} from '../../files/cleaning/cleaning.ts'
import type {SniffedFile} from '../../files/new-file.ts'
import {Reader, type ReaderOptions} from '../../files/reader.ts'
import {type NarrowSource, readNarrowSources} from '../../files/sources/evidence.ts'
import {rangeWithoutReasons} from '../../runs/results/reason-columns.ts'
import {toOneLine} from '../../schema/name.ts'
import {Flows} from '../flows/flow.ts'
import {type ImportSlot, slotsOf} from './slots.ts'
import {Template, type TemplateSlot} from './template.ts'

type NamedSlots = {org: string; importId: string; name: string} & Pick<z.input<typeof Template>, 'description' | 'verify'>

/** `leftOut`: descriptions of the parts of the import that a template cannot keep. */
type SavedTemplate = {document: Template; leftOut: string[]}

/**
 * The template keeps the files' columns and how they are read. The template has no cell, sample, count or file name, and no label derived from a file
 * name.
 */
export const templateOf = async (db: Db, {org, importId, name, description, verify}: NamedSlots): Promise<SavedTemplate> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired')
    throw new Refusal('FILE_GONE', 'This import has expired and its flows were deleted. Save a template of another import')
  if (found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before saving a template')
  const flows = Flows.parse(found.flows)
  const used = (await readNarrowSources(db, {importNo: found.no, keys: ['name']})).filter(({id}) =>
    flows.some(({sourceId}) => sourceId === id),
  )
  if (flows.some(({sourceId}) => !used.some(({id}) => id === sourceId)))
    throw new Refusal('NOT_READY', 'A flow reads a file that was removed. Save the flows again before you save a template')
  const slots = nameSlots(used, slotsOf(found))
  const sources = used.map((source, at) => shapeSource(source, slots[at]!, at))
  const {data: document, error} = Template.safeParse({
    name,
    description,
    verify,
    connectorId: found.connectorId,
    sources: sources.map(({slot}) => slot),
    flows: flows.map(flow => ({...flow, sourceId: slots[used.findIndex(({id}) => id === flow.sourceId)]!})),
  })
  if (error) throw new Refusal('INVALID', 'This import is too large for a template. Save one with fewer flows', {issues: error.issues})
  return {document, leftOut: sources.flatMap(({leftOut}) => leftOut)}
}

/** Slots of an import that was made from a template keep their names. */
const nameSlots = (sources: Pick<Source, 'id'>[], filled: ImportSlot[]): string[] => {
  const names: string[] = []
  for (const [at, {id}] of sources.entries()) {
    const before = filled.find(({sourceId, slot}) => sourceId === id && !names.includes(slot))?.slot
    let name = before ?? `file${at + 1}`
    for (let n = at + 2; before === undefined && (names.includes(name) || filled.some(({slot}) => slot === name)); n++) name = `file${n}`
    names.push(name)
  }
  return names
}

const shapeSource = (source: NarrowSource<'name'>, slot: string, at: number): {slot: TemplateSlot; leftOut: string[]} => {
  const {columns, fileColumns, sniffed} = source.evidence
  const label = toOneLine(labelOf(source) ?? `File ${at + 1}`)
  const [steps, reader] = [Cleaning.parse(source.cleaning), Reader.parse(source.reader)]
  const cleaning = steps.filter(step => !namesRows(step))
  const leftOut = [
    ...(steps.some(({step}) => step === 'editCells') ? [`${label}: edited cells, because a template keeps no data of rows`] : []),
    ...(steps.some(({step}) => step === 'strikeRows')
      ? [`${label}: rows excluded by number, because the next file has other rows there`]
      : []),
    ...('badBytes' in reader ? [`${label}: accepting bytes that are not valid in its encoding`] : []),
    ...('openQuotes' in reader && reader.openQuotes === 'keep' ? [`${label}: accepting rows that have an open quote`] : []),
  ]
  return {
    slot: {
      slot,
      label,
      cleaning,
      reader: statedOf(reader, sniffed),
      choices: Choices.parse(source.choices),
      columns: fileColumns ?? columns.map(({name}) => name),
    },
    leftOut,
  }
}

/**
 * Returns the label that a user gave. If the label or the file name contains the other, returns null, because the label is then probably the default,
 * made from the file name.
 */
const labelOf = ({name, label}: Pick<Source, 'name' | 'label'>): string | null => {
  const stem = name.replace(/\.[^.]*$/, '').toLowerCase()
  const lowerLabel = label.toLowerCase()
  return lowerLabel.includes(stem) || stem.includes(lowerLabel) ? null : label
}

/** The values of `how` for an encoding that the file's bytes do not show. */
const chosenHow = ['stated', 'content type', 'template']

/**
 * Returns the reader options that a template keeps. Leaves out what the sniffer detects in each new file: its encoding, a `sep=` line, the reason
 * columns of failed.csv, its only sheet, its decimals. Also leaves out the acceptance of bad bytes and open quotes, which a
 * person gave for one file.
 */
const statedOf = (reader: Reader, sniffed: SniffedFile | undefined): ReaderOptions => {
  if (reader.format === 'xlsx') {
    const {sheet, range, decimals: _, ...rest} = reader
    const isOnly = sniffed && 'sheets' in sniffed && sniffed.how === 'only' && sniffed.sheet === sheet
    return {...rest, ...(range !== rangeWithoutReasons && {range}), ...(!isOnly && {sheet})}
  }
  const {badBytes: _bytes, openQuotes: _quotes, reasons: _reasons, ...kept} = reader
  if (!sniffed || !('encoding' in sniffed)) return kept
  const {encoding, delimiter, skipRows, ...rest} = kept
  const isNamed = sniffed.delimiterHow === 'sep line' && sniffed.delimiter === delimiter && sniffed.skipRows === skipRows
  return {
    ...rest,
    ...(chosenHow.includes(sniffed.how) || sniffed.encoding !== encoding ? {encoding} : {}),
    ...(isNamed ? {} : {delimiter, skipRows}),
  }
}
