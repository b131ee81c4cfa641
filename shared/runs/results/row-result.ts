import type {PHASES} from '../../../sql/run-log.ts'

/** A module in result files. `label`: its name in the CRM. */
export type ResultModule = {apiName: string; label: string}

export type RowOutcomeName =
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
  /** The number of the flow, to distinguish two flows that write one module. */
  flow?: number
  outcome: RowOutcomeName
  recordId: string | null
  code: string | null
  message: string | null
  /** Whether an earlier create of this row was never answered, so that the record may exist twice. */
  disclosed?: boolean
  /** The phase of the entry, by default `write`. Only `write` entries decide the result. Entries of every phase can add to `Error`. */
  phase?: (typeof PHASES)[number]
  /** Label of the field that the entry concerns: the field of a patch, a lookup or an edit, or the field whose value failed. */
  target?: string | null
}

/** The final outcome of one row, with one entry per record, lookup, patch or edit. `excluded`: cleaning removed the row. */
export type RowOutcome = {rowNumber: number; excluded?: boolean; entries: OutcomeEntry[]}

type RowResult = {result: string; records: string[]; error: string}

/** The results, from worst to best. The result of a row is the worst result of its write entries. */
const results = ['No answer', 'Failed', 'Written', 'Written before', 'Skipped', '']
const ranks: Record<RowOutcomeName, number> = {
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
/** This sentence ends a row's message if an earlier create was never answered and no entry of the run's log shows that create. */
export const mayExist = 'An earlier create of this row was never answered, so the record may exist already'
/** The wording of `mayExist` in messages that earlier builds stored. */
const mayExistBefore = 'A create of this row in an earlier run was never answered, so the record may exist already'

const mentionsMayExist = (message: string | null) => message !== null && (message.endsWith(mayExist) || message.endsWith(mayExistBefore))

/** Whether the record of a row may exist, although its last create failed. failed.csv leaves such a row out, because a new import would repeat it. */
export const mayHaveRecord = ({disclosed = false, message}: Pick<OutcomeEntry, 'disclosed' | 'message'>): boolean =>
  disclosed || mentionsMayExist(message)

const twice = 'A create was sent and never answered, so the record may exist twice'

/** This sentence ends a row's message and appears in the column `Error` of results.csv. It names fields, never values. */
export const describeRounded = (fields: string[]) =>
  `${fields.join(', ')} ${fields.length === 1 ? 'was' : 'were'} rounded from more decimal places`

export const describeEmptied = (fields: string[]) =>
  `${fields.join(', ')} ${fields.length === 1 ? 'has' : 'have'} no value, because the value map has no entry for the cell`

const REMARK =
  /^[^.]* (?:(?:was|were) rounded from more decimal places|(?:has|have) no value, because the value map has no entry for the cell)$/

const remarksIn = (message: string) =>
  message
    .split('. ')
    .filter(sentence => REMARK.test(sentence))
    .join('. ')

/** The ids of several records of one module are joined by `; `. */
export const resultOf = ({excluded, entries}: RowOutcome, modules: ResultModule[]): RowResult => {
  let worst = results.length - 1
  for (const {phase = 'write', outcome} of entries) if (phase === 'write') worst = Math.min(worst, ranks[outcome])
  const records = modules.map(({apiName}) => recordsOf(entries, apiName))
  const result = worst === ranks.updated ? wordOf(entries) : results[worst]!
  return {result: excluded ? 'Excluded' : result, records, error: errorOf(entries, modules)}
}

const wordOf = (entries: OutcomeEntry[]) => {
  const codes = entries.flatMap(({phase = 'write', outcome, code}) => (phase === 'write' && isWritten.has(outcome) ? [code] : []))
  if (codes.every(code => code === 'DELETED')) return 'Deleted'
  return codes.every(code => code === 'DELETED' || code === 'RESTORED') ? 'Restored' : 'Written'
}

const recordsOf = (entries: OutcomeEntry[], apiName: string) => {
  const ids: string[] = []
  for (const {module, recordId, phase = 'write'} of entries) {
    if (phase === 'write' && module === apiName && recordId && !ids.includes(recordId)) ids.push(recordId)
  }
  return ids.join('; ')
}

const errorOf = (entries: OutcomeEntry[], modules: ResultModule[]) => {
  const sentences = new Set<string>()
  for (const entry of entries) {
    const failure = isLookupOutcome(entry, entries) ? '' : describeFailure(entry)
    if (failure) sentences.add(placeOf(entry, modules) + failure)
    if (entry.disclosed) sentences.add(placeOf(entry, modules) + twice)
  }
  return [...sentences].join('; ')
}

/** Whether a lookup entry of the row has the same message, so that the message is not repeated. */
export const isLookupOutcome = ({outcome, message}: OutcomeEntry, entries: OutcomeEntry[]) =>
  outcome !== 'lookup' && message !== null && entries.some(other => other.outcome === 'lookup' && other.message === message)

const placeOf = ({module, target}: OutcomeEntry, modules: ResultModule[]) => {
  const label = modules.length > 1 ? modules.find(({apiName}) => apiName === module)?.label : undefined
  const place = [label, target].filter(Boolean).join(', ')
  return place && `${place}: `
}

const isWritten = new Set<RowOutcomeName>(['created', 'updated'])
const isSilent = new Set<RowOutcomeName>(['created', 'updated', 'inherited', 'planned', 'would_ask'])

const describeFailure = ({outcome, code, message}: OutcomeEntry) => {
  if (isWritten.has(outcome) && code === null) return message ?? ''
  if (isSilent.has(outcome)) return remarksIn(message ?? '')
  const words = message ?? (outcome === 'unanswered' ? noAnswer : '')
  if (outcome === 'lookup' || !code) return words
  return words ? `${words} (${code})` : code
}
