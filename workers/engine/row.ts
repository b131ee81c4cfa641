import {matchKeyOf, normalise} from '../../shared/flows/match-key.ts'
import type {SnapshotFlow, SnapshotModule, SnapshotSource} from '../../shared/flows/snapshot.ts'
import {CLEAR, convert} from '../../shared/flows/value.ts'
import type {Row as FileRow} from '../../shared/imports/row.ts'
import type {Outcome} from '../../sql/run-log.ts'

export const KINDS = {create: 0, update: 1, again: 2} as const
export type Kind = 'create' | 'update'

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
  /** A step settled before, which planning may not change any more. */
  decided: {kind: Kind; target: string | null} | null
  /** Its outcome as counted now. */
  counted: Outcome | null
  /** Whether it stands in `unsettled`. */
  open: boolean
}

export type Failure = {number: number; key: string; code: string; message: string; target: string | null}

type Filler = {field: SnapshotModule['fields'][number]; column: number | null; text: string; clears: boolean}

/** A flow made ready to run over rows: columns by position, fields by shape. */
export type Track = {
  no: number
  id: string
  source: SnapshotSource
  module: SnapshotModule
  fillers: Filler[]
  matchFields: SnapshotModule['fields']
  uniqueFields: SnapshotModule['fields']
  onOne: 'update' | 'skip' | 'create'
  onMany: 'ask' | 'first' | 'skip'
}

export const layTrack = (
  {no, sourceNo, moduleNo, flow}: SnapshotFlow,
  {sources, modules}: {sources: SnapshotSource[]; modules: SnapshotModule[]},
): Track => {
  const source = sources.find(source => source.no === sourceNo)!
  const module = modules.find(module => module.no === moduleNo)!
  const fieldOf = (name: string) => module.fields.find(({apiName}) => apiName === name)!
  const fillers = flow.fields
    .filter(({mode}) => mode !== 'skip')
    .map(({field, mode, source: column, staticValue, empty}) => ({
      field: fieldOf(field),
      column: mode === 'column' ? source.columns.indexOf(column!) : null,
      text: staticValue ?? '',
      clears: empty === 'clear',
    }))
  return {
    no,
    id: flow.id,
    source,
    module,
    fillers,
    matchFields: (flow.match?.by ?? []).map(fieldOf),
    uniqueFields: fillers.map(({field}) => field).filter(({unique}) => unique),
    onOne: flow.match?.onOne ?? 'create',
    onMany: flow.match?.onMany ?? 'skip',
  }
}

/** The row as the CRM will be sent it, or why it cannot be. Pure: the same cells give the same row in every run of a chain. */
export const compose = (track: Track, {rowNumber, cells, ragged}: FileRow): Row | Failure => {
  const key = `${track.id}.${rowNumber}`
  const failed = (code: string, message: string, target: string | null = null) => ({number: rowNumber, key, code, message, target})
  if (ragged)
    return failed(
      'ROW_RAGGED',
      `The row has ${cells.length} cells and the header ${track.source.fileColumns ?? track.source.columns.length}: nothing of it was written`,
    )
  if (isBlank(track, cells)) return failed('ROW_EMPTY', 'Every mapped cell of the row is empty')
  const payload: Record<string, unknown> = {}
  for (const filler of track.fillers) {
    const {field, clears} = filler
    const cell = cellOf(filler, cells)
    if (cell === CLEAR || (clears && cell.trim() === '')) payload[field.apiName] = null
    else if (cell.trim() !== '') {
      const converted = convert(cell, field)
      if (!converted.ok) return failed(converted.code, converted.message, field.apiName)
      payload[field.apiName] = converted.value
    }
  }
  return dress(track, key, rowNumber, payload)
}

/** Nothing of the file is in it: static values and cleared fields alone are no row. */
const isBlank = ({fillers}: Track, cells: string[]) => {
  const readsFile = fillers.some(({column}) => column !== null)
  return fillers.every(filler => (readsFile && filler.column === null) || cellOf(filler, cells).trim() === '')
}

const cellOf = ({column, text}: Filler, cells: string[]) => (column === null ? text : (cells[column] ?? ''))

const dress = (track: Track, key: string, number: number, payload: Record<string, unknown>): Row => {
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
    decided: null,
    counted: null,
    open: false,
  }
}

export const isRow = (composed: Row | Failure): composed is Row => 'payload' in composed
