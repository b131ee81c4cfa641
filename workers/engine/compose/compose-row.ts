import type {EvaluationError} from '../../../shared/expressions/sandbox.ts'
import type {FileRow} from '../../../shared/files/row.ts'
import {matchKeyOf, normalise} from '../../../shared/mapping/flows/match-key.ts'
import {rulesAt} from '../../../shared/mapping/flows/rules.ts'
import {CLEAR, convert, convertValue, USERS} from '../../../shared/mapping/flows/value.ts'
import {type MappedValue, mapValue} from '../../../shared/mapping/flows/value-map.ts'
import type {CompiledFlow, FieldMapping, ImportRow, PendingLink, RowFailure} from '../model.ts'

import type {EvaluatedExpressions} from './expressions.ts'
import {FILTER, GUARD} from './flow-program.ts'
import {digestOf, readSearchText} from './lookups.ts'
import {faultAt, joinFailures} from './wrong-cells.ts'

/**
 * Composes the row as it is sent to the CRM, without links that are still to be resolved. If the row ends here, returns one failure for all invalid
 * fields. If `all` is given, adds the failure of each invalid field to `all` instead, and omits the field from the payload. Pure: the same cells and
 * results of expressions give the same row in every run of a chain.
 */
export const composeRow = (
  flow: CompiledFlow,
  read: FileRow,
  evaluated: EvaluatedExpressions = none,
  all: RowFailure[] | null = null,
): ImportRow | RowFailure => {
  const {rowNumber, cells, ragged, openQuote} = read
  const key = `${flow.id}.${rowNumber}`
  const draft: RowDraft = {key, read, evaluated, payload: {}, failures: all ?? [], notes: null}
  if (openQuote)
    return failureOf(
      draft,
      'ROW_QUOTE',
      'A quote of the row seems not to be closed, so a cell may contain the rows below. Close the quote in the file, or set openQuotes to keep',
    )
  if (ragged)
    return failureOf(
      draft,
      'ROW_RAGGED',
      `The row has ${cells.length} cells and the header ${flow.source.fileColumns ?? flow.source.columns.length}: the row was not written`,
    )
  const unread = flow.program?.columns.find(({at}) => faultAt(read, at))
  if (unread) return failureOf(draft, 'INVALID_VALUE', `${unread.name}: ${faultAt(read, unread.at)}`)
  const stopped = flow.program && checkFilterAndGuard(draft)
  if (stopped) return stopped
  if (!flow.patchPlan && isBlank(flow, cells)) return failureOf(draft, 'ROW_EMPTY', 'Every mapped cell of the row is empty')
  for (const filler of flow.mappings) fillField(draft, filler)
  const {payload, failures, notes} = draft
  if (!all && failures.length > 0) {
    const {unmapped, emptied} = notes ?? {}
    return {...joinFailures(failures), ...(unmapped && {unmapped}), ...(emptied && {emptied})}
  }
  const row = withRowKeys(flow, key, rowNumber, payload)
  return notes ? Object.assign(row, notes) : row
}

const none: EvaluatedExpressions = {}

type RowNotes = Pick<ImportRow, 'pendingLinks' | 'rounded' | 'unmapped' | 'emptied'>
/** A row while its fields are filled. `notes`: what else is known of the row; null if nothing. */
type RowDraft = Pick<ImportRow, 'key' | 'payload'> & {
  read: FileRow
  evaluated: EvaluatedExpressions
  failures: RowFailure[]
  notes: RowNotes | null
}

const failureOf = ({key, read}: RowDraft, code: string, message: string, target: string | null = null): RowFailure => ({
  number: read.rowNumber,
  key,
  code,
  message,
  target,
})

/**
 * Fills one field of the row: takes the value, applies the value map, and converts the result. If the value must be searched for, adds it
 * to `pendingLinks` instead.
 */
const fillField = (draft: RowDraft, filler: FieldMapping): void => {
  const {field, clears, values} = filler
  const {read, evaluated, payload, failures} = draft
  const made = filler.expression === undefined ? null : madeFor(filler, read.cells, evaluated)
  if (made && 'error' in made)
    return void failures.push(failureOf(draft, made.error.code, describeEvaluationError(made.error), field.apiName))
  const given = made ? made.value : cellOf(filler, read.cells)
  const {value, isMapped = false, isUnmapped = false}: MappedValue = values ? mapValue(given, field, values) : {value: given}
  const fault = isMapped || (isUnmapped && values!.otherwise === 'empty') ? undefined : faultAt(read, filler.column)
  if (fault) return void failures.push(failureOf(draft, 'INVALID_VALUE', `${field.apiName}: ${fault}`, field.apiName))
  if (isUnmapped) {
    ;(notesOf(draft).unmapped ??= []).push(field.apiName)
    if (values!.otherwise === 'fail') return void failures.push(failureOf(draft, 'VALUE_UNMAPPED', describeUnmapped(field), field.apiName))
    if (values!.otherwise === 'empty') (notesOf(draft).emptied ??= []).push(field.apiName)
  }
  if (value === CLEAR) payload[field.apiName] = null
  else if (value === null || (typeof value === 'string' && value.trim() === '')) {
    if (clears) payload[field.apiName] = null
  } else {
    const rules = isMapped ? {...filler.rules, reading: undefined} : rulesAt(filler.rules, read, filler.column)
    const isLink = isWanted(filler, value)
    const toField = made && !isMapped ? convertValue : convert
    const converted = isLink ? readSearchText(String(value), filler.link!.lookup, rules) : toField(value as string, field, rules)
    if (!converted.ok) return void failures.push(failureOf(draft, converted.code, converted.message, field.apiName))
    if (isLink) return void (notesOf(draft).pendingLinks ??= []).push(addPendingLink(filler, String(converted.value)))
    // A list without values is blank: only `\N` and the mapping's `empty` clear a field.
    const isBlankList = Array.isArray(converted.value) && converted.value.length === 0
    if (!isBlankList) payload[field.apiName] = converted.value
    else if (clears) payload[field.apiName] = null
    if (converted.rounded) (notesOf(draft).rounded ??= []).push(field.apiName)
  }
}

const notesOf = (draft: RowDraft): RowNotes => (draft.notes ??= {})

const describeUnmapped = ({apiName}: FieldMapping['field']) => `The value map of ${apiName} has no entry for this value`

const rowConditions = [
  {name: FILTER, end: 'held'},
  {name: GUARD, end: 'skipped'},
] as const

/**
 * Returns how the row ends if the filter or the guard is false or fails; null if the row continues. A false filter holds the row back, a false guard
 * skips it, and an error fails it.
 */
const checkFilterAndGuard = (draft: RowDraft): RowFailure | null => {
  for (const {name, end} of rowConditions) {
    const outcome = draft.evaluated[name]
    if (outcome && 'error' in outcome) return failureOf(draft, outcome.error.code, `${name}: ${describeEvaluationError(outcome.error)}`)
    if (outcome && !outcome.value) return {...failureOf(draft, 'GUARDED', "The flow's guard excludes this row"), end}
  }
  return null
}

const describeEvaluationError = ({message, line, column}: EvaluationError) =>
  line === null ? message : `${message} (line ${line}, column ${column})`

/** Returns the result of the mapping's expression. Null: the cell is the clear token, to which no expression applies. */
const madeFor = ({expression, column}: FieldMapping, cells: string[], evaluated: EvaluatedExpressions) =>
  column !== null && cells[column] === CLEAR ? null : evaluated[expression!]!

const isWanted = ({link, field}: FieldMapping, value: unknown) => {
  if (!link || typeof value === 'object') return false
  return link.always || (USERS.has(field.type) && String(value).includes('@'))
}

const addPendingLink = ({field, link}: FieldMapping, text: string): PendingLink => ({
  field: field.apiName,
  link: link!,
  text,
  digest: digestOf(text, link!.lookup),
})

/**
 * Whether every cell that a mapping or an expression reads is empty. If the flow reads no cells, whether it has only empty static texts.
 */
const isBlank = ({mappings: fillers, program}: CompiledFlow, cells: string[]) => {
  const columns = program?.columns ?? []
  const readsFile = columns.length > 0 || fillers.some(({column}) => column !== null)
  if (!readsFile) return fillers.every(filler => !filler.expression && filler.text.trim() === '')
  const isEmpty = (column: number) => (cells[column] ?? '').trim() === ''
  return fillers.every(({column}) => column === null || isEmpty(column)) && columns.every(({at}) => isEmpty(at))
}

const cellOf = ({column, text}: FieldMapping, cells: string[]) => (column === null ? text : (cells[column] ?? ''))

export const withRowKeys = (flow: CompiledFlow, key: string, number: number, payload: Record<string, unknown>): ImportRow => {
  const {matchFields, uniqueFields} = flow
  const matchKey = matchFields.length
    ? matchKeyOf(
        matchFields.map(({apiName}) => payload[apiName]),
        matchFields,
      )
    : null
  let lockKeys = matchKey ? [matchKey.toString('latin1')] : []
  let hasUniqueKey = false
  for (const field of uniqueFields) {
    const value = normalise(payload[field.apiName], field)
    if (value === null) continue
    hasUniqueKey = true
    // `push` would reserve spare places, which take more memory than the key.
    lockKeys = [...lockKeys, `${field.apiName}=${value}`]
  }
  return {
    number,
    key,
    payload,
    matchKey,
    lockKeys,
    matches: [],
    hasUniqueKey,
    attempt: 0,
    unansweredSends: 0,
    unansweredCreates: 0,
    decided: null,
    counted: null,
    open: false,
  }
}
