import type {DiscoveredField, DiscoveredModule} from '../../shared/crm/discovered.ts'
import type {FileRow} from '../../shared/files/row.ts'
import type {FileDeps} from '../../shared/files/stored-file.ts'
import {composeRow} from '../engine/compose/compose-row.ts'
import {evaluateRows} from '../engine/compose/compose-rows.ts'
import type {EvaluatedExpressions, Expressions} from '../engine/compose/expressions.ts'
import {FILTER, GUARD} from '../engine/compose/flow-program.ts'
import {parentKeyOf} from '../engine/compose/parents.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure} from '../engine/model.ts'
import {readChunks} from '../engine/read/read-rows.ts'
import type {CheckFindings, Spot} from './findings.ts'
import {type FlowKeys, isOpen, usesExistingRecords} from './flow-keys.ts'
import type {RowlessParents} from './rowless-parents.ts'

type FlowCheck = {
  place: FileDeps
  flow: CompiledFlow
  /** The flow's patch pass; null if it patches nothing. */
  late: CompiledFlow | null
  /** The module as discovered. The compiled flow contains only part of it. */
  module: DiscoveredModule
  findings: CheckFindings
  keys: FlowKeys
  rowless: RowlessParents
  expressions: Expressions
  signal: AbortSignal
  /** Whether this flow reports the rows that cleaning removed. Only one of the flows over a file does. */
  reportsExcluded: boolean
  onRead(rows: number): Promise<void>
}

/**
 * Reads the flow's file and composes its rows as a run does. Returns the number of rows that have no error and that no filter, guard or
 * cleaning step excludes.
 */
export const checkRows = async (check: FlowCheck): Promise<number> => {
  const {place, flow, late, findings, signal, reportsExcluded, onRead} = check
  const source = flow.source
  const required = requiredOf(check.module, flow)
  let good = 0
  for await (const chunk of readChunks(place, flow)) {
    signal.throwIfAborted()
    const mine = chunk.filter(({struck}) => struck === undefined)
    if (reportsExcluded && mine.length < chunk.length)
      for (const {struck, rowNumber: row} of chunk)
        if (struck !== undefined) findings.note({severity: 'info', kind: 'struck', source}, {row, message: struck})
    const evaluated = await evaluateRows(check, flow, mine)
    const fitting = mine.filter((row, at) => judge(check, required, row, evaluated?.[at]))
    good += fitting.length
    if (late) await judgeLate({...check, flow: late}, fitting)
    await onRead(chunk.length)
  }
  return good
}

type RequiredField = Pick<DiscoveredField, 'apiName' | 'hasDefault'>

/** Returns the fields without which the CRM creates no record. Empty for a flow that deletes. Excludes subforms that have a flow. */
const requiredOf = ({fields}: DiscoveredModule, {deletes = false, nestedFlows: nests = [], layout}: CompiledFlow): RequiredField[] =>
  (deletes ? [] : fields)
    .filter(({required, creatable, readOnly}) => required && creatable && !readOnly)
    .map(({apiName, hasDefault}): RequiredField => ({apiName, hasDefault}))
    .concat((layout?.requires ?? []).map(apiName => ({apiName, hasDefault: fields.find(field => field.apiName === apiName)?.hasDefault})))
    .filter(({apiName}) => !nests.some(({subform}) => subform.field === apiName))

const judge = (check: FlowCheck, required: RequiredField[], read: FileRow, evaluated: EvaluatedExpressions | undefined): boolean => {
  const failures: RowFailure[] = []
  const composed = composeRow(check.flow, read, evaluated, failures)
  if (!isRow(composed)) {
    noteEnd(check, composed, evaluated)
    if (!composed.end) noteSiblings(check, read)
    return false
  }
  if (check.flow.subform) check.rowless.add(check.flow, read)
  for (const failure of failures) noteField(check, failure, read, evaluated)
  noteRounded(check, composed, read)
  noteUnmapped(check, composed, read)
  const isShort = noteRequired(check, required, composed, {read, failures})
  if (failures.length || isShort) noteSiblings(check, read)
  else if (isOrphan(check.flow, read)) noteOrphan(check, read)
  else {
    check.keys.add(composed)
    if (!check.flow.subform) check.rowless.add(check.flow, read)
    return true
  }
  return false
}

/** Whether a subform row lacks the key of its parent. */
const isOrphan = ({subform}: CompiledFlow, {cells}: FileRow) =>
  Boolean(subform?.link.key) && parentKeyOf(cells[subform!.link.key!.child]) === null

const noteOrphan = (check: FlowCheck, {rowNumber: row}: FileRow) => {
  const {flow, findings} = check
  const spot = {...spotIn(check, 'error', 'parent_failed'), column: columnName(flow, flow.subform!.link.key!.child)}
  findings.note(spot, {row, message: 'The row has no key of a parent row'})
}

/** Notes at a failed subform row that no other row of its parent is written, because the rows of a parent are written together or not at all. */
const noteSiblings = (check: FlowCheck, read: FileRow) => {
  const {flow, findings} = check
  if (!flow.subform || isOrphan(flow, read)) return
  const more = flow.subform.nested ? ', and a new parent is not written either' : ''
  const message = `If a row fails, no row of the same parent is written: the parent keeps the rows it has${more}`
  findings.note(spotIn(check, 'warning', 'row_of_same_parent'), {row: read.rowNumber, message})
}

/** Notes failures in the fields that the patch pass writes. They do not fail the row, because its record exists by then. */
const judgeLate = async (check: FlowCheck, rows: FileRow[]) => {
  const evaluated = await evaluateRows(check, check.flow, rows)
  for (const [at, row] of rows.entries()) {
    const failures: RowFailure[] = []
    const composed = composeRow(check.flow, row, evaluated?.[at], failures)
    if (isRow(composed)) {
      noteRounded(check, composed, row)
      noteUnmapped(check, composed, row)
    }
    for (const failure of failures) noteField(check, failure, row, evaluated?.[at])
  }
}

const spotIn = ({flow}: FlowCheck, severity: Spot['severity'], kind: string): Spot => ({
  severity,
  kind,
  source: flow.source,
  flow: flow.id,
  module: flow.module.apiName,
})

const noteEnd = (
  {findings, ...check}: FlowCheck,
  {end, code, message, number: row}: RowFailure,
  evaluated: EvaluatedExpressions | undefined,
) => {
  const kind = end === 'held' ? 'filtered' : code.toLowerCase().replace(/^row_/, '')
  const spot = spotIn({findings, ...check}, end ? 'info' : 'error', kind)
  const description = end === 'held' ? "The flow's filter excludes these rows" : message
  findings.note({...spot, place: placeIn(evaluated?.[FILTER]) ?? placeIn(evaluated?.[GUARD])}, {row, message: description})
}

const noteField = (
  check: FlowCheck,
  {code, message, target, number: row}: RowFailure,
  read: FileRow,
  evaluated: EvaluatedExpressions | undefined,
) => {
  const {flow, findings} = check
  const {column = null, expression} = fillerOf(flow, target!) ?? {}
  const place = expression === undefined ? null : placeIn(evaluated?.[expression])
  const spot = {...spotIn(check, 'error', code.toLowerCase()), field: target, column: columnName(flow, column), place}
  findings.note(spot, {row, message, cell: cellAt(read, column)})
}

const noteRounded = (check: FlowCheck, {number: row, rounded = []}: ImportRow, read: FileRow) => {
  const {flow, findings} = check
  for (const field of rounded) {
    const column = fillerOf(flow, field)?.column ?? null
    const spot = {...spotIn(check, 'info', 'rounded'), field, column: columnName(flow, column)}
    findings.note(spot, {
      row,
      message: `${field} has fewer decimal places than these values, so they are rounded`,
      cell: cellAt(read, column),
    })
  }
}

/** Notes values without an entry in a value map that do not fail the row. A value that fails the row is noted as a failure. */
const noteUnmapped = (check: FlowCheck, {number: row, unmapped = [], emptied = []}: ImportRow, read: FileRow) => {
  const {flow, findings} = check
  for (const field of unmapped) {
    const {column = null, values} = fillerOf(flow, field)!
    if (values!.otherwise === 'fail') continue
    const isEmptied = emptied.includes(field)
    const spot = {...spotIn(check, isEmptied ? 'warning' : 'info', 'value_unmapped'), field, column: columnName(flow, column)}
    const message = `The value map of ${field} has no entry for these values, so ${isEmptied ? 'they count as blank cells' : 'they are used as they are'}`
    findings.note(spot, {row, message, cell: cellAt(read, column)})
  }
}

type RequiredFieldsInput = {read: FileRow; failures: RowFailure[]}

/**
 * Notes required fields without a value. Returns whether the row fails for certain. A row that matches a record is an update, which may omit the
 * field but not clear it.
 */
const noteRequired = (check: FlowCheck, required: RequiredField[], row: ImportRow, {read, failures}: RequiredFieldsInput): boolean => {
  const {flow, findings} = check
  let isCertain = false
  for (const {apiName: field, hasDefault} of required) {
    const value = row.payload[field]
    if (value === undefined && hasDefault) continue
    const isLink = flow.parent?.field === field || row.pendingLinks?.some(want => want.field === field)
    if (isLink || failures.some(({target}) => target === field) || (value !== undefined && value !== null)) continue
    const mayMeet = value === undefined && usesExistingRecords(flow) && (row.matchKey !== null || isOpen(flow, row.pendingLinks))
    const column = fillerOf(flow, field)?.column ?? null
    const spot = {...spotIn(check, mayMeet ? 'warning' : 'error', 'required'), field, column: columnName(flow, column)}
    const message = mayMeet
      ? `${field} is empty: the row can only update a record that exists`
      : `${field} is empty, and the CRM requires it: a run ends the row as refused with MANDATORY_NOT_FOUND`
    findings.note(spot, {row: row.number, message, cell: cellAt(read, column)})
    isCertain ||= !mayMeet
  }
  return isCertain
}

export const fillerOf = ({mappings: fillers}: CompiledFlow, field: string) => fillers.find(({field: {apiName}}) => apiName === field)
export const columnName = ({source}: CompiledFlow, column: number | null) => (column === null ? null : (source.columns[column] ?? null))

/** Returns the cell as in the file. For a column that cleaning added, returns the cell that cleaning made. */
export const cellAt = ({cells, read = cells}: FileRow, column: number | null) =>
  column === null ? undefined : (read[column] ?? cells[column])

const placeIn = (outcome: EvaluatedExpressions[string] | undefined) => {
  if (!outcome || !('error' in outcome) || outcome.error.line === null) return null
  return {line: outcome.error.line, column: outcome.error.column ?? 1}
}
