import type {EvaluationError} from '../../shared/expressions/sandbox.ts'
import {matchKeyOf, normalise} from '../../shared/flows/match-key.ts'
import {CLEAR, convert, convertValue, USERS} from '../../shared/flows/value.ts'
import type {Row as FileRow} from '../../shared/imports/row.ts'
import type {Asking} from '../../sql/questions.ts'
import type {Outcome} from '../../sql/run-log.ts'
import type {Evaluated} from './expressions.ts'
import type {LookupNote} from './linking.ts'
import {digestOf} from './lookups.ts'
import type {Kin} from './parents.ts'
import {FILTER, GUARD} from './program.ts'
import type {Filler, Link, Track} from './track.ts'
import {faultAt, joinFailures} from './wrong-cells.ts'

export {layTrack, type Track} from './track.ts'

/** `replace`: of a row of a subform, with all others of its parent. */
export const KINDS = {create: 0, update: 1, again: 2, replace: 3, patch: 4} as const
export type Kind = 'create' | 'update'
export type Way = Kind | 'replace'

/** One row on its way through one flow. It lives in memory only while it is inside the window. */
export type Row = {
  number: number
  key: string
  payload: Record<string, unknown>
  matchKey: Buffer | null
  /** What no two rows may hold at once: the match key, every unique value of the payload, the record being written. */
  holds: string[]
  /** Records the CRM says this row matches. */
  matches: string[]
  /** The unique field a lost create can be recognised by. */
  witness: boolean
  /** The last attempt sent or logged. */
  attempt: number
  /** Sends of this row in this run that nobody answered. */
  silences: number
  /** When the first of them was known, in monotonic ms. */
  silentSince?: number
  /** An earlier run of the chain sent a create of this row that was never answered. */
  lost?: boolean
  /** Creates of this row in its chain that were never answered and that no found record accounts for. */
  unansweredCreates: number
  /** Of a create that was lost before this owner came and that nothing unique tells: what was sent then. */
  sentDigest?: Buffer
  /** A step settled before, which planning may not change any more. */
  decided: {kind: Kind; target: string | null} | null
  /** Its outcome as counted now. */
  counted: Outcome | null
  /** Sentences about its write that its results show beside `Written`. */
  remarks?: string[]
  /** Whether it stands in `unsettled`. */
  open: boolean
  /** Links that are found before it is planned. */
  wants?: Want[]
  /** What of its links was not simply found; written down with the row's first entry. */
  notes?: LookupNote[]
  /** Fields whose value had more decimal places in the file. */
  rounded?: string[]
  /** False for a row that counts nothing, whatever is sent of it. */
  isMetered?: boolean
  /** The rows it may belong to. */
  kin?: Kin
  /** Other rows of its flow may wait for it; the keys of those it waits for. */
  isAwaited?: boolean
  waitsFor?: string[] | undefined
}

/**
 * A row that ends before it is planned: it failed, or else `end` says how. `held`: the filter keeps it back, and nothing is said of it.
 * `asks`: what a person is to choose first.
 */
export type Failure = {
  number: number
  key: string
  code: string
  message: string
  target: string | null
  end?: 'skipped' | 'held'
  notes?: LookupNote[]
  asks?: Asking
}

/** A link whose record is still to be found. `digest`: names the value; null where nothing can have it. */
export type Want = {field: string; link: Link; text: string; digest: string | null}

/**
 * The row as the CRM will be sent it but for links that are still to be found, or why it cannot be. Pure: the same cells, and the same that
 * the flow's expressions made of them, give the same row in every run of a chain. A row fails by all of its fields that cannot be filled;
 * given `all`, every such field is added to it and left out instead.
 */
export const compose = (track: Track, read: FileRow, evaluated: Evaluated = none, all: Failure[] | null = null): Row | Failure => {
  const {rowNumber, cells, ragged} = read
  const key = `${track.id}.${rowNumber}`
  const failed = (code: string, message: string, target: string | null = null) => ({number: rowNumber, key, code, message, target})
  if (ragged)
    return failed(
      'ROW_RAGGED',
      `The row has ${cells.length} cells and the header ${track.source.fileColumns ?? track.source.columns.length}: nothing of it was written`,
    )
  const unread = track.program?.columns.find(({at}) => faultAt(read, at))
  if (unread) return failed('INVALID_VALUE', `${unread.name}: ${faultAt(read, unread.at)}`)
  const stopped = track.program && stopBy(evaluated, failed)
  if (stopped) return stopped
  if (!track.patching && isBlank(track, cells)) return failed('ROW_EMPTY', 'Every mapped cell of the row is empty')
  const payload: Record<string, unknown> = {}
  let wants: Want[] | undefined
  const failures = all ?? []
  let rounded: string[] | undefined
  for (const filler of track.fillers) {
    const {field, clears} = filler
    const made = filler.expression === undefined ? null : madeFor(filler, cells, evaluated)
    if (made && 'error' in made) {
      failures.push(failed(made.error.code, sayError(made.error), field.apiName))
      continue
    }
    const fault = faultAt(read, filler.column)
    if (fault) {
      failures.push(failed('INVALID_VALUE', `${field.apiName}: ${fault}`, field.apiName))
      continue
    }
    const value = made ? made.value : cellOf(filler, cells)
    if (value === CLEAR) payload[field.apiName] = null
    else if (value === null || (typeof value === 'string' && value.trim() === '')) {
      if (clears) payload[field.apiName] = null
    } else if (filler.link && isWanted(filler, value)) (wants ??= []).push(want(filler, String(value)))
    else {
      const converted = made ? convertValue(value, field, filler.rules) : convert(value as string, field, filler.rules)
      if (converted.ok) {
        payload[field.apiName] = converted.value
        if (converted.rounded) (rounded ??= []).push(field.apiName)
      } else failures.push(failed(converted.code, converted.message, field.apiName))
    }
  }
  if (!all && failures.length > 0) return joinFailures(failures)
  const row = dress(track, key, rowNumber, payload)
  return wants || rounded ? {...row, ...(wants && {wants}), ...(rounded && {rounded})} : row
}

const none: Evaluated = {}

type Failed = (code: string, message: string, target?: string | null) => Failure

/** By the flow's filter and guard: a row for which one is not true goes no further. */
const stopBy = (evaluated: Evaluated, failed: Failed): Failure | null => {
  for (const [name, end] of [
    [FILTER, 'held'],
    [GUARD, 'skipped'],
  ] as const) {
    const outcome = evaluated[name]
    if (outcome && 'error' in outcome) return failed(outcome.error.code, `${name}: ${sayError(outcome.error)}`)
    if (outcome && !outcome.value) return {...failed('GUARDED', "The flow's guard keeps this row back"), end}
  }
  return null
}

const sayError = ({message, line, column}: EvaluationError) => (line === null ? message : `${message} (line ${line}, column ${column})`)

/** What the expression made of the row; null where its cell is the clear token, which passes it by. */
const madeFor = ({expression, column}: Filler, cells: string[], evaluated: Evaluated) =>
  column !== null && cells[column] === CLEAR ? null : evaluated[expression!]!

const isWanted = ({link, field}: Filler, value: unknown) => {
  if (!link || typeof value === 'object') return false
  return link.always || (USERS.has(field.type) && String(value).includes('@'))
}

const want = ({field, link}: Filler, text: string): Want => ({
  field: field.apiName,
  link: link!,
  text,
  digest: digestOf(text, link!.lookup),
})

/** Nothing of the file is in it: static values, cleared fields and what an expression makes of nothing are no row. */
const isBlank = ({fillers, program}: Track, cells: string[]) => {
  const columns = program?.columns ?? []
  const readsFile = columns.length > 0 || fillers.some(({column}) => column !== null)
  if (!readsFile) return fillers.every(filler => !filler.expression && filler.text.trim() === '')
  const isEmpty = (column: number) => (cells[column] ?? '').trim() === ''
  return fillers.every(({column}) => column === null || isEmpty(column)) && columns.every(({at}) => isEmpty(at))
}

const cellOf = ({column, text}: Filler, cells: string[]) => (column === null ? text : (cells[column] ?? ''))

export const dress = (track: Track, key: string, number: number, payload: Record<string, unknown>): Row => {
  const {matchFields, uniqueFields} = track
  const matchKey = matchFields.length
    ? matchKeyOf(
        matchFields.map(({apiName}) => payload[apiName]),
        matchFields,
      )
    : null
  const uniques = uniqueFields.flatMap(field => {
    const value = normalise(payload[field.apiName], field)
    return value === null ? [] : [`${field.apiName}=${value}`]
  })
  return {
    number,
    key,
    payload,
    matchKey,
    holds: matchKey ? [matchKey.toString('latin1'), ...uniques] : uniques,
    matches: [],
    witness: uniques.length > 0,
    attempt: 0,
    silences: 0,
    unansweredCreates: 0,
    decided: null,
    counted: null,
    open: false,
  }
}

export const isRow = (composed: Row | Failure): composed is Row => 'payload' in composed
