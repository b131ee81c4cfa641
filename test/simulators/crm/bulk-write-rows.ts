import type {Refusal} from './answers.ts'
import type {BulkMapping, BulkWriteBody} from './bulk-write-body.ts'
import type {Write} from './drafts.ts'
import type {Field} from './fields.ts'
import {type Org, userByEmail} from './org.ts'
import {canSee} from './profiles.ts'
import {lazyIndex, type Rec, type Values} from './store.ts'
import {createRecord, isSuccess, updateRecord} from './writes.ts'
import {formatInstant, isDate} from './zones.ts'

export type BulkWriteResult = {status: 'ADDED' | 'UPDATED' | 'SKIPPED' | 'UNPROCESSED'; recordId: string; errors: string}

/** Executes one row of a bulk write. */
export const writeRow = (write: Write, body: BulkWriteBody, cells: string[]): BulkWriteResult => {
  const {module, operation, findBy, mappings, ignoresEmpty} = body
  const input: Values = {}
  const problems: Problem[] = []
  for (const mapping of mappings) readCell(write, mapping, cells, {input, problems, ignoresEmpty})
  if (problems.length > 0) return skipped(problems)
  const found = findBy === null ? null : findRecord(write, body, findBy, input[findBy])
  if (operation === 'insert' && found) {
    const {bulkNamesSkipped} = write.org.switches
    return {...skipped([{code: 'DUPLICATE_DATA', column: findBy!}]), recordId: bulkNamesSkipped ? found.id : ''}
  }
  if (operation === 'update' && !found) return skipped([{code: 'RESOURCE_NOT_FOUND', column: findBy!}])
  const {id: _, ...values} = input
  const entry = found ? updateRecord(write, module, {...values, id: found.id}, '$') : createRecord(write, module, values, '$')
  if (!isSuccess(entry)) return skipped(problemsOf(entry))
  return {status: found ? 'UPDATED' : 'ADDED', recordId: String(entry.details.id), errors: ''}
}

type Problem = {code: string; column: string}

const skipped = (problems: Problem[]): BulkWriteResult => {
  const byCode = Map.groupBy(problems, ({code}) => code)
  const errors = [...byCode].map(([code, some]) => `${code}-${some.map(({column}) => column).join(',')}`).join(':')
  return {status: 'SKIPPED', recordId: '', errors}
}

/** Returns the problems of a refused row. A duplicate does not name the record that holds the value. */
const problemsOf = ({code, details}: Refusal): Problem[] => {
  if (code === 'MULTIPLE_OR_MULTI_ERRORS') return (details.errors as Refusal[]).flatMap(problemsOf)
  return [{code: rowCodes.includes(code) ? code : 'CANNOT_PROCESS', column: String(details.api_name ?? 'id')}]
}

/** The error codes of a row. Any other code becomes CANNOT_PROCESS. Source: the vendor's page of bulk write results. */
const rowCodes = ['MANDATORY_NOT_FOUND', 'INVALID_DATA', 'DUPLICATE_DATA', 'NOT_APPROVED', 'BLOCKED_RECORD', 'LIMIT_EXCEEDED']

const findRecord = (write: Write, {module}: BulkWriteBody, findBy: string, value: unknown): Rec | null => {
  if (value === undefined || value === null) return null
  const rec = findBy === 'id' ? module.store.byId.get(String(value)) : module.store.uniques.get(findBy)!.first(value)
  return rec && canSee(write, module.name, rec) ? rec : null
}

type RowState = {input: Values; problems: Problem[]; ignoresEmpty: boolean}

const readCell = (write: Write, mapping: BulkMapping, cells: string[], {input, problems, ignoresEmpty}: RowState) => {
  const {column, field, name, fallback} = mapping
  const cell = column === null ? '' : (cells[column] ?? '')
  if (name === 'Layout' || name === 'id') {
    const value = cell || fallback
    if (value) input[name] = name === 'id' ? value : {id: value}
  } else if (cell === '' && fallback !== undefined) input[name] = fallback
  else if (cell !== '') {
    const value = readValue(write, mapping, field!, cell)
    if (value === undefined) problems.push({code: 'INVALID_DATA', column: name})
    else input[name] = value
  } else if (!ignoresEmpty) input[name] = null
}

/** Returns the value of a cell, or undefined if the cell does not have the form of the field. */
const readValue = (write: Write, {format, findBy}: BulkMapping, field: Field, cell: string): unknown => {
  switch (field.type) {
    case 'integer':
    case 'double':
    case 'percent':
    case 'currency':
      return cell.trim() !== '' && Number.isFinite(Number(cell)) ? Number(cell) : undefined
    case 'boolean':
      return {true: true, false: false}[cell.toLowerCase()]
    case 'date':
      return readDate(cell, format ?? 'MM/dd/yyyy')?.date
    case 'datetime':
      return readInstant(write, cell, format ?? 'MM/dd/yyyy HH:mm:ss')
    case 'multiselectpicklist':
      return cell.split(';')
    case 'lookup':
      return findLink(write.org, field, findBy!, cell)
    case 'ownerlookup':
    case 'userlookup':
      return {id: findBy === 'email' ? (userByEmail(write.org, cell)?.id ?? '0') : cell}
    default:
      return cell
  }
}

const findLink = ({modules}: Org, {spec}: Field, findBy: string, cell: string) => {
  if (findBy === 'id') return {id: cell}
  const target = modules.get(spec.lookup ?? '')
  const rec = target?.fields.has(findBy) ? lazyIndex(target.store, findBy).first(cell) : undefined
  return rec && {id: rec.id}
}

const readDate = (cell: string, format: string): {date: string; time: string} | null => {
  const places: Record<string, string> = {yyyy: '(?<y>\\d{4})', MM: '(?<m>\\d{2})', dd: '(?<d>\\d{2})', HH: '(?<h>\\d{2})'}
  const source = format.replace(/yyyy|MM|dd|HH|mm|ss/g, part => places[part] ?? (part === 'mm' ? '(?<n>\\d{2})' : '(?<s>\\d{2})'))
  const {y, m, d, h = '00', n = '00', s = '00'} = new RegExp(`^${source}$`).exec(cell)?.groups ?? {}
  const date = `${y}-${m}-${d}`
  return y !== undefined && isDate(date) ? {date, time: `${h}:${n}:${s}`} : null
}

/** Reads a time of the user's time zone; returns undefined if the cell does not match the format. */
const readInstant = ({zone}: Write, cell: string, format: string): string | undefined => {
  const read = readDate(cell, format)
  const asUtc = read ? Date.parse(`${read.date}T${read.time}Z`) : Number.NaN
  if (!read || Number.isNaN(asUtc)) return undefined
  const local = `${read.date}T${read.time}`
  const offsets = [asUtc, asUtc - 12 * 3600_000, asUtc + 12 * 3600_000].map(ms => formatInstant(ms, zone).slice(19))
  const instants = offsets.map(offset => formatInstant(Date.parse(`${local}${offset}`), zone))
  return instants.find(instant => instant.startsWith(local))
}

export const isWritten = ({status}: BulkWriteResult) => status === 'ADDED' || status === 'UPDATED'
