import type {Db} from '../../sql/database.ts'
import {findImport} from '../../sql/imports.ts'
import {listSources, type Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {Flows} from '../flows/flow.ts'
import {Choices} from '../imports/choices.ts'
import {Cleaning} from '../imports/cleaning.ts'
import type {Sniffed} from '../imports/new-file.ts'
import {Reader, type ReaderOptions} from '../imports/reader.ts'
import {evidenceOf} from '../sources/evidence.ts'
import {type ImportSlot, slotsOf} from './slots.ts'
import {type Slot, Template} from './template.ts'

type Named = {org: string; importId: string; name: string; description?: string | null | undefined}

/** What of the import a template cannot keep is told in `leftOut`. */
type Saved = {document: Template; leftOut: string[]}

/**
 * What an import does, without what it did it to: of its files the columns and how they are read stay, and no cell, sample, count, file name or
 * label made from one.
 */
export const templateOf = async (db: Db, {org, importId, name, description}: Named): Promise<Saved> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired')
    throw new Refusal('FILE_GONE', 'This import has expired, and what it did is not kept: save a template of another')
  if (found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before saving a template')
  const flows = Flows.parse(found.flows)
  const used = (await listSources(db, found.no)).filter(({id}) => flows.some(({sourceId}) => sourceId === id))
  if (flows.some(({sourceId}) => !used.some(({id}) => id === sourceId)))
    throw new Refusal('NOT_READY', 'A flow reads a file that is no longer there: set the flows again before saving a template')
  const slots = nameSlots(used, slotsOf(found))
  const sources = used.map((source, at) => shapeSource(source, slots[at]!, at))
  const {data: document, error} = Template.safeParse({
    ...{name, description, connectorId: found.connectorId, sources: sources.map(({slot}) => slot)},
    flows: flows.map(flow => ({...flow, sourceId: slots[used.findIndex(({id}) => id === flow.sourceId)]!})),
  })
  if (error) throw new Refusal('INVALID', 'This import is too large for a template: save one with fewer flows', {issues: error.issues})
  return {document, leftOut: sources.flatMap(({leftOut}) => leftOut)}
}

/** Slots keep the names they had where the import was made from a template. */
const nameSlots = (sources: Source[], filled: ImportSlot[]): string[] => {
  const names: string[] = []
  for (const [at, {id}] of sources.entries()) {
    const before = filled.find(({sourceId, slot}) => sourceId === id && !names.includes(slot))?.slot
    let name = before ?? `file${at + 1}`
    for (let n = at + 2; before === undefined && (names.includes(name) || filled.some(({slot}) => slot === name)); n++) name = `file${n}`
    names.push(name)
  }
  return names
}

const shapeSource = (source: Source, slot: string, at: number): {slot: Slot; leftOut: string[]} => {
  const {columns, fileColumns, sniffed} = evidenceOf(source)
  const label = labelOf(source) ?? `File ${at + 1}`
  const [steps, reader] = [Cleaning.parse(source.cleaning), Reader.parse(source.reader)]
  const cleaning = steps.filter(({step}) => step !== 'strikeRows')
  const leftOut = [
    ...(cleaning.length < steps.length ? [`${label}: rows struck by number, which are other rows in the next file`] : []),
    ...('badBytes' in reader ? [`${label}: the bytes that were accepted though they are not in its encoding`] : []),
  ]
  return {
    slot: {
      ...{slot, label, cleaning},
      reader: statedOf(reader, sniffed),
      choices: Choices.parse(source.choices),
      columns: fileColumns ?? columns.map(({name}) => name),
    },
    leftOut,
  }
}

/** A label is a file's name unless somebody gave it another; null where it tells anything of that name. */
const labelOf = ({name, label}: Source): string | null => {
  const stem = name.replace(/\.[^.]*$/, '').toLowerCase()
  const told = label.toLowerCase()
  return told.includes(stem) || stem.includes(told) ? null : label
}

/** How an encoding came to be that a file does not show by itself. */
const chosenHow = ['stated', 'content type', 'template']

/**
 * What a file shows by itself is looked for in each file anew: its encoding, the line that names its delimiter, its only sheet. Bytes that
 * a person accepted are those of one file.
 */
const statedOf = (reader: Reader, sniffed: Sniffed | undefined): ReaderOptions => {
  if (reader.format === 'xlsx') {
    const {sheet, ...rest} = reader
    return sniffed && 'sheets' in sniffed && sniffed.how === 'only' && sniffed.sheet === sheet ? rest : reader
  }
  const {badBytes: _, ...kept} = reader
  if (!sniffed || !('encoding' in sniffed)) return kept
  const {encoding, delimiter, skipRows, ...rest} = kept
  const isNamed = sniffed.delimiterHow === 'sep line' && sniffed.delimiter === delimiter && sniffed.skipRows === skipRows
  return {
    ...rest,
    ...(chosenHow.includes(sniffed.how) || sniffed.encoding !== encoding ? {encoding} : {}),
    ...(isNamed ? {} : {delimiter, skipRows}),
  }
}
