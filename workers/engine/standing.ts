import type {RowRange} from '../../shared/flows/snapshot.ts'
import {mayExist} from '../../shared/imports/row-result.ts'
import {findInherited} from '../../sql/chain-rows.ts'
import type {OpenQuestion} from '../../sql/ledger.ts'
import type {Outcome} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import {witnessOf} from './digest.ts'
import type {Question} from './questions.ts'
import {type Failure, isRow, KINDS, type Row, type Track} from './row.ts'
import {countedAs} from './takeover.ts'
import {questionOf} from './verdict.ts'

/** A row that ends without a step of this run, as its chain left it: its record is there, or nobody can tell whether it is. */
export type Standing = {
  row: Pick<Row, 'key' | 'number' | 'counted' | 'attempt'>
  /** An unanswered create of the row may have made a second record. */
  mayExistTwice?: boolean
  /** Its open question, with the key of the record that its create would have made. */
  question?: OpenQuestion
  outcome: Extract<Outcome, 'inherited' | 'unanswered'>
  recordId: string | null
  code: string | null
  message: string | null
}

export const isInRange = ({from = 1, to = Number.POSITIVE_INFINITY}: RowRange = {}, number: number) => number >= from && number <= to

/** Of these rows, by number, those that have their record from an earlier run of the chain. Without one nothing is asked. */
export const findTheirs = async (
  {hot, run, retried}: Pick<Context, 'hot' | 'run' | 'retried'>,
  track: Track,
  numbers: number[],
): Promise<Map<number, Standing>> => {
  if (retried === null || numbers.length === 0) return new Map()
  const named = new Map(numbers.map(number => [`${track.id}.${number}`, number]))
  const found = await findInherited(hot, {chain: retried, run: run.no, module: track.module.no, keys: [...named.keys()]})
  return new Map(
    found.map(({key, recordId, mayExistTwice}) => {
      const number = named.get(key)!
      return [
        number,
        {row: {key, number, counted: null, attempt: 0}, outcome: 'inherited', recordId, code: null, message: null, mayExistTwice},
      ]
    }),
  )
}

/**
 * A row with an open question keeps the step it was sent for: matched again, it would find its own lost record. A create is sent again
 * where the CRM would tell its record by the same unique values; one without any is looked for first, by what was sent (`sentDigest`).
 * Attempts and silences count within one run, as its meter does.
 */
export const resume = (
  {run}: Pick<Context, 'run'>,
  track: Track,
  composed: Row | Failure,
  question: Question,
): Row | Failure | Standing => {
  const isOurs = question.run === run.no
  const {number, key} = composed
  const counted = isOurs ? countedAs(question.kind) : null
  const attempt = isOurs ? question.attempt : 0
  const row = {key, number, counted, attempt}
  const isCreate = question.kind === KINDS.create
  const unknown = (code: string, message: string): Standing => ({
    ...{row, outcome: 'unanswered', recordId: question.target, code, message},
    ...(isRow(composed) && isCreate && {question: {...questionOf(track, composed, {...question, attempt}), ...keptOf(question)}}),
  })
  // Refused after a create that nobody answered, in an earlier run: planned afresh, and its record may exist all the same.
  const mayBeMade = question.kind === KINDS.again && question.ended && !isOurs
  if (!isRow(composed) && isCreate) return unknown(composed.code, `${composed.message}. ${SENT_BEFORE}`)
  if (!isRow(composed)) return mayBeMade ? {...composed, message: `${composed.message}. ${mayExist}`} : composed
  if (isCreate && !question.witness && (run.dryRun || question.digest === null))
    return unknown('SENT_BEFORE', `${SENT_BEFORE}, and no unique value of the row tells its record: look for it in the CRM`)
  if (isCreate && question.witness && question.digest !== null && !witnessOf(track, composed)?.equals(question.digest))
    return unknown(
      'PAYLOAD_CHANGED',
      `${SENT_BEFORE}, under other unique values: set the mappings back and retry, or look for it in the CRM`,
    )
  const again = question.kind === KINDS.again
  return {
    ...composed,
    ...row,
    open: true,
    lost: mayBeMade || (isCreate && !isOurs),
    unansweredCreates: isCreate || mayBeMade ? question.creates : 0,
    silences: again || !isOurs ? 0 : Math.max(1, isCreate && !question.witness ? attempt : 1),
    ...(isCreate && !question.witness && {sentDigest: question.digest!}),
    decided: again ? null : {kind: isCreate ? 'create' : 'update', target: question.target},
  }
}

const keptOf = ({witness, digest}: Question) => ({witness, digest, ended: true})

const SENT_BEFORE = 'A create of this row was sent before and never answered'

export const isStanding = (one: Row | Failure | Standing): one is Standing => 'outcome' in one
