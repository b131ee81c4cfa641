/** `label` is the module's name as the connection names it. */
export type Module = {apiName: string; label: string}

export type Outcome =
  | 'created'
  | 'updated'
  | 'inherited'
  | 'skipped'
  | 'refused'
  | 'failed'
  | 'unanswered'
  | 'planned'
  | 'would_ask'
  | 'lookup'

export type OutcomeEntry = {
  module: string
  /** Tells two flows apart that write one module. */
  flow?: number
  outcome: Outcome
  recordId: string | null
  code: string | null
  message: string | null
  /** An earlier send of this row's create was never answered, so the record may exist twice. */
  disclosed?: boolean
  /** Only `write`, the default, decides the result; what came of a patch or a lookup is told in `Error`. */
  phase?: 'write' | 'patch' | 'match' | 'lookup'
  /** The field's name as the connection names it, where one is meant: that of a patch, of a lookup, or whose value failed. */
  target?: string | null
}

/** What finally became of one row: one entry per record or lookup. `excluded`: struck by cleaning. */
export type RowOutcome = {rowNumber: number; excluded?: boolean; entries: OutcomeEntry[]}

type RowResult = {result: string; records: string[]; error: string}

/** Worst first: the worst of a row's modules is the row's result. */
const results = ['No answer', 'Failed', 'Written', 'Written before', 'Skipped', '']
const ranks: Record<Outcome, number> = {
  unanswered: 0,
  failed: 1,
  refused: 1,
  created: 2,
  updated: 2,
  inherited: 3,
  skipped: 4,
  planned: 5,
  would_ask: 5,
  lookup: 5,
}
const noAnswer = 'The CRM did not answer, so this may or may not have been written'
/** Ends the message of a refused row whose earlier create was never answered and whose log entries alone do not say so. */
export const mayExist = 'An earlier create of this row was never answered, so the record may exist already'
/** The same in records that earlier builds wrote. */
const mayExistBefore = 'A create of this row in an earlier run was never answered, so the record may exist already'

export const saysMayExist = (message: string | null) => message !== null && (message.endsWith(mayExist) || message.endsWith(mayExistBefore))

const twice = 'A create was sent and never answered, so the record may exist twice'

/** Ends the message of a row that was written with rounded values; results.csv repeats it in `Error`. Names fields, never a value. */
export const sayRounded = (fields: string[]) =>
  `${fields.join(', ')} ${fields.length === 1 ? 'was' : 'were'} rounded from more decimal places`
const ROUNDED = /(?:^|\. )([^.]* (?:was|were) rounded from more decimal places)$/

/** The results columns of one row; several records of one module are joined by `; `. */
export const resultOf = ({excluded, entries}: RowOutcome, modules: Module[]): RowResult => {
  let worst = results.length - 1
  for (const {phase = 'write', outcome} of entries) if (phase === 'write') worst = Math.min(worst, ranks[outcome])
  const records = modules.map(({apiName}) => recordsOf(entries, apiName))
  return {result: excluded ? 'Excluded' : results[worst]!, records, error: errorOf(entries, modules)}
}

const recordsOf = (entries: OutcomeEntry[], apiName: string) => {
  const ids: string[] = []
  for (const {module, recordId, phase = 'write'} of entries) {
    if (phase === 'write' && module === apiName && recordId && !ids.includes(recordId)) ids.push(recordId)
  }
  return ids.join('; ')
}

const errorOf = (entries: OutcomeEntry[], modules: Module[]) => {
  const sentences = new Set<string>()
  for (const entry of entries) {
    const failure = isToldByLookup(entry, entries) ? '' : sayFailure(entry)
    if (failure) sentences.add(placeOf(entry, modules) + failure)
    if (entry.disclosed) sentences.add(placeOf(entry, modules) + twice)
  }
  return [...sentences].join('; ')
}

/** A row that ends by a lookup says what the lookup says. */
export const isToldByLookup = ({outcome, message}: OutcomeEntry, entries: OutcomeEntry[]) =>
  outcome !== 'lookup' && message !== null && entries.some(other => other.outcome === 'lookup' && other.message === message)

const placeOf = ({module, target}: OutcomeEntry, modules: Module[]) => {
  const label = modules.length > 1 ? modules.find(({apiName}) => apiName === module)?.label : undefined
  const place = [label, target].filter(Boolean).join(', ')
  return place && `${place}: `
}

const isWritten = new Set<Outcome>(['created', 'updated'])
const saysNothing = new Set<Outcome>(['created', 'updated', 'inherited', 'planned', 'would_ask'])

const sayFailure = ({outcome, code, message}: OutcomeEntry) => {
  if (isWritten.has(outcome) && code === null) return message ?? ''
  if (saysNothing.has(outcome)) return ROUNDED.exec(message ?? '')?.[1] ?? ''
  const words = message ?? (outcome === 'unanswered' ? noAnswer : '')
  if (outcome === 'lookup' || !code) return words
  return words ? `${words} (${code})` : code
}
