import type {DiscoveredModule} from '../../shared/crm/discovered.ts'
import type {Row as FileRow} from '../../shared/imports/row.ts'
import type {FilePlace} from '../../shared/imports/stored-file.ts'
import {evaluateRows} from '../engine/composing.ts'
import type {Evaluated, Expressions} from '../engine/expressions.ts'
import {parentKeyOf} from '../engine/parents.ts'
import {FILTER, GUARD} from '../engine/program.ts'
import {readChunks} from '../engine/reading.ts'
import {compose, type Failure, isRow, type Row, type Track} from '../engine/row.ts'
import type {Findings, Spot} from './findings.ts'
import {isOpen, meets, type TrackKeys} from './track-keys.ts'

type FlowCheck = {
  place: FilePlace
  track: Track
  /** What is written to the same rows' records once all are; null where nothing is. */
  late: Track | null
  /** As the discovery has it; the track keeps less of it. */
  module: DiscoveredModule
  findings: Findings
  keys: TrackKeys
  expressions: Expressions
  signal: AbortSignal
  /** Whether rows that cleaning struck are this flow's to tell: of the flows over one file one tells them. */
  tellsStruck: boolean
  /** Heard after every chunk of rows. */
  onRead(rows: number): Promise<void>
}

/** Reads the flow's file and composes its rows as a run does. Answers how many rows nothing is known against. */
export const checkRows = async (check: FlowCheck): Promise<number> => {
  const {place, track, late, findings, signal, tellsStruck, onRead} = check
  const source = track.source
  const required = requiredOf(check.module)
  let good = 0
  for await (const chunk of readChunks(place, track)) {
    signal.throwIfAborted()
    const mine = chunk.filter(({struck}) => struck === undefined)
    if (tellsStruck && mine.length < chunk.length)
      for (const {struck, rowNumber: row} of chunk)
        if (struck !== undefined) findings.note({severity: 'info', kind: 'struck', source}, {row, message: struck})
    const evaluated = await evaluateRows(check, track, mine)
    const fitting = mine.filter((row, at) => judge(check, required, row, evaluated?.[at]))
    good += fitting.length
    if (late) await judgeLate({...check, track: late}, fitting)
    await onRead(chunk.length)
  }
  return good
}

/** Fields without which the CRM makes no record. */
const requiredOf = ({fields}: DiscoveredModule) =>
  fields.filter(({required, creatable, readOnly}) => required && creatable && !readOnly).map(({apiName}) => apiName)

const judge = (check: FlowCheck, required: string[], read: FileRow, evaluated: Evaluated | undefined): boolean => {
  const failures: Failure[] = []
  const composed = compose(check.track, read, evaluated, failures)
  if (!isRow(composed)) {
    noteEnd(check, composed, evaluated)
    if (!composed.end) noteSiblings(check, read)
    return false
  }
  for (const failure of failures) noteField(check, failure, read, evaluated)
  noteRounded(check, composed, read)
  const isShort = noteRequired(check, required, composed, {read, failures})
  if (failures.length || isShort) noteSiblings(check, read)
  else if (isOrphan(check.track, read)) noteOrphan(check, read)
  else {
    check.keys.add(composed)
    return true
  }
  return false
}

/** A row of a subform that does not say whose it is. */
const isOrphan = ({subform}: Track, {cells}: FileRow) => Boolean(subform?.link.key) && parentKeyOf(cells[subform!.link.key!.child]) === null

const noteOrphan = (check: FlowCheck, {rowNumber: row}: FileRow) => {
  const {track, findings} = check
  const spot = {...spotIn(check, 'error', 'parent_failed'), column: columnName(track, track.subform!.link.key!.child)}
  findings.note(spot, {row, message: 'The row does not say which row it belongs to'})
}

/** Rows of a subform are written with all others of their parent, or none of them is. */
const noteSiblings = (check: FlowCheck, read: FileRow) => {
  const {track, findings} = check
  if (!track.subform || isOrphan(track, read)) return
  const message = 'Where a row fails, none of the same parent is written: the parent keeps the rows it has'
  findings.note(spotIn(check, 'warning', 'row_of_same_parent'), {row: read.rowNumber, message})
}

/** Fields that are written later fail by themselves: the record is there by then. */
const judgeLate = async (check: FlowCheck, rows: FileRow[]) => {
  const evaluated = await evaluateRows(check, check.track, rows)
  for (const [at, row] of rows.entries()) {
    const failures: Failure[] = []
    const composed = compose(check.track, row, evaluated?.[at], failures)
    if (isRow(composed)) noteRounded(check, composed, row)
    for (const failure of failures) noteField(check, failure, row, evaluated?.[at])
  }
}

const spotIn = ({track}: FlowCheck, severity: Spot['severity'], kind: string): Spot => ({
  ...{severity, kind, source: track.source, flow: track.id, module: track.module.apiName},
})

/** A row that ends whole. */
const noteEnd = ({findings, ...check}: FlowCheck, {end, code, message, number: row}: Failure, evaluated: Evaluated | undefined) => {
  const kind = end === 'held' ? 'filtered' : code.toLowerCase().replace(/^row_/, '')
  const spot = spotIn({findings, ...check}, end ? 'info' : 'error', kind)
  const said = end === 'held' ? "The flow's filter keeps these rows back" : message
  findings.note({...spot, place: placeIn(evaluated?.[FILTER]) ?? placeIn(evaluated?.[GUARD])}, {row, message: said})
}

/** A field that cannot be filled. */
const noteField = (check: FlowCheck, {code, message, target, number: row}: Failure, read: FileRow, evaluated: Evaluated | undefined) => {
  const {track, findings} = check
  const {column = null, expression} = fillerOf(track, target!) ?? {}
  const place = expression === undefined ? null : placeIn(evaluated?.[expression])
  const spot = {...spotIn(check, 'error', code.toLowerCase()), field: target, column: columnName(track, column), place}
  findings.note(spot, {row, message, cell: cellAt(read, column)})
}

const noteRounded = (check: FlowCheck, {number: row, rounded = []}: Row, read: FileRow) => {
  const {track, findings} = check
  for (const field of rounded) {
    const column = fillerOf(track, field)?.column ?? null
    const spot = {...spotIn(check, 'info', 'rounded'), field, column: columnName(track, column)}
    findings.note(spot, {row, message: `${field} has fewer decimal places than these values: they are rounded`, cell: cellAt(read, column)})
  }
}

type Known = {read: FileRow; failures: Failure[]}

/** Answers whether the row fails by it for certain: one that finds its record is an update, which need not name the field. */
const noteRequired = (check: FlowCheck, required: string[], row: Row, {read, failures}: Known): boolean => {
  const {track, findings} = check
  let isCertain = false
  for (const field of required) {
    const value = row.payload[field]
    const isLink = track.parent?.field === field || row.wants?.some(want => want.field === field)
    if (isLink || failures.some(({target}) => target === field) || (value !== undefined && value !== null)) continue
    const mayMeet = value === undefined && meets(track) && (row.matchKey !== null || isOpen(track, row.wants))
    const column = fillerOf(track, field)?.column ?? null
    const spot = {...spotIn(check, mayMeet ? 'warning' : 'error', 'required'), field, column: columnName(track, column)}
    const message = mayMeet
      ? `${field} is empty: the row can be written only where it finds its record`
      : `${field} is empty, and has to be filled`
    findings.note(spot, {row: row.number, message, cell: cellAt(read, column)})
    isCertain ||= !mayMeet
  }
  return isCertain
}

export const fillerOf = ({fillers}: Track, field: string) => fillers.find(({field: {apiName}}) => apiName === field)
export const columnName = ({source}: Track, column: number | null) => (column === null ? null : (source.columns[column] ?? null))

/** As the file has it; of a column that cleaning made, as cleaning made it. */
export const cellAt = ({cells, read = cells}: FileRow, column: number | null) =>
  column === null ? undefined : (read[column] ?? cells[column])

const placeIn = (outcome: Evaluated[string] | undefined) => {
  if (!outcome || !('error' in outcome) || outcome.error.line === null) return null
  return {line: outcome.error.line, column: outcome.error.column ?? 1}
}
