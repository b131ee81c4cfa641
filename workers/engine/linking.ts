import {questionKeyOf} from '../../shared/flows/question-key.ts'
import {type Decision, findDecisions} from '../../sql/decisions.ts'
import type {Asking} from '../../sql/questions.ts'
import type {LookupAnswer} from '../../sql/run-lookups.ts'
import type {Context} from './context.ts'
import type {Wanted} from './lookups.ts'
import {allOf} from './match.ts'
import {dress, type Failure, isRow, type Row, type Track, type Want} from './row.ts'

/**
 * What a link came to that is not the one record its value names, as the log has it: phase and outcome `lookup`, attempt 0, the field as
 * target, and one of these codes. `NONE`: no record; `MANY`: several; `CHOSEN`: several, of which a person chose before; `REFUSED`: the CRM
 * cannot be asked about the value. The message is a whole sentence that says what was done: the link left empty, the first or the chosen
 * record linked, the row skipped or failed. `recordId` is the record that was linked. A row that ends by it is `skipped` or `failed` with
 * `LOOKUP_NONE`, `LOOKUP_MANY` or `LOOKUP_REFUSED`.
 */
export type LookupNote = {field: string; code: 'NONE' | 'MANY' | 'CHOSEN' | 'REFUSED'; message: string; recordId: string | null}

/** Gives rows the links they want, or the end that their mapping has for what was not found. */
export const linkRows = async (ctx: Context, track: Track, composed: (Row | Failure)[]): Promise<(Row | Failure)[]> => {
  const wanting = composed.filter(one => isRow(one)).filter(({wants}) => wants?.length)
  if (wanting.length === 0) return composed
  const wants = wanting.flatMap(row => row.wants!)
  const answers = await answerAll(ctx, wants)
  const decided = await findChosen(ctx, track, wants, answers)
  const linked = new Map<Row | Failure, Row | Failure>(wanting.map(row => [row, link(ctx, track, row, {answers, decided})]))
  return composed.map(one => linked.get(one) ?? one)
}

type Answers = Map<Want, LookupAnswer>

const answerAll = async (ctx: Context, wants: Want[]): Promise<Answers> => {
  const answers: Answers = new Map()
  const groups = [...Map.groupBy(wants, ({link}) => link.lookup)].map(async ([lookup, mine]) => {
    const wanted: Wanted = new Map()
    for (const {digest, text} of mine) if (digest !== null) wanted.set(digest, [...new Set([...(wanted.get(digest) ?? []), text])])
    const found = await ctx.lookups.answer(ctx, lookup, wanted)
    for (const want of mine) answers.set(want, (want.digest !== null && found.get(want.digest)) || {found: 0, candidates: []})
  })
  await allOf(groups)
  return answers
}

/** What people decided, before the run began, about values that name several records. */
const findChosen = async ({run, snapshot, hot}: Context, track: Track, wants: Want[], answers: Answers): Promise<Map<Want, Decision>> => {
  const asking = wants.filter(want => want.link.onMany === 'ask' && answers.get(want)!.found > 1)
  if (asking.length === 0 || snapshot.decidedUpTo === 0 || run.importNo === null) return new Map()
  const keys = new Map(asking.map(want => [want, keyOf(track, want)]))
  const wanted = {importNo: run.importNo, upTo: snapshot.decidedUpTo, flowId: track.id, kind: 'lookup' as const, keys: [...keys.values()]}
  const found = new Map((await findDecisions(hot, wanted)).map(decision => [decision.key.toString('hex'), decision]))
  return new Map(asking.flatMap(want => (found.has(hexOf(keys.get(want)!)) ? [[want, found.get(hexOf(keys.get(want)!))!]] : [])))
}

const hexOf = (key: Buffer) => key.toString('hex')
const keyOf = (track: Track, {field, digest}: Want) =>
  questionKeyOf({kind: 'lookup', flowId: track.id, field, value: Buffer.from(digest!, 'latin1')})

type Known = {answers: Answers; decided: Map<Want, Decision>}
/** `record`: what is linked, null for an empty link; or how the row ends. */
type Came = {code: LookupNote['code']; what: string; record: string | null; end: 'skip' | 'fail' | 'ask' | null}

const link = (ctx: Context, track: Track, row: Row, {answers, decided}: Known): Row | Failure => {
  const {wants = [], ...rest} = row
  const payload = {...rest.payload}
  const notes: LookupNote[] = []
  for (const want of wants) {
    const answer = answers.get(want)!
    if (answer.found === 1) {
      payload[want.field] = {id: answer.candidates[0]!}
      continue
    }
    const came = judge(want, answer, decided.get(want))
    const {code, record} = came
    notes.push({field: want.field, code, message: say(came), recordId: record})
    if (came.end) return endOf(ctx, track, row, {want, answer, came, notes})
    if (record !== null) payload[want.field] = {id: record}
  }
  const isKey = wants.some(({field}) => track.matchFields.some(({apiName}) => apiName === field))
  return {...(isKey ? dress(track, row.key, row.number, payload) : {...rest, payload}), ...(notes.length > 0 && {notes})}
}

const judge = ({link}: Want, {found, candidates}: LookupAnswer, decision: Decision | undefined): Came => {
  const {onNone, onMany, lookup} = link
  const {apiName} = lookup.field
  const module = lookup.module ?? 'the users'
  const came = (code: Came['code'], what: string, record: string | null, end: Came['end'] = null) => ({code, what, record, end})
  if (found < 0) return came('REFUSED', `The CRM cannot be asked for this ${apiName} of ${module}`, null, 'fail')
  if (found === 0) return came('NONE', `No record of ${module} has this ${apiName}`, null, onNone === 'leave' ? null : onNone)
  const what = `${found} records of ${module} have this ${apiName}`
  const how = onMany === 'ask' ? (decision?.choice ?? 'ask') : onMany
  // Only the oldest were kept: whoever chose another one saw it in the CRM.
  const isThere = candidates.includes(decision?.recordId ?? '') || found > candidates.length
  if (how === 'record' && isThere) return came('CHOSEN', what, decision!.recordId)
  if (how === 'first') return came('MANY', what, candidates[0]!)
  if (how === 'leave' || how === 'create') return came('MANY', what, null)
  return came('MANY', what, null, how === 'record' ? 'ask' : how)
}

const ENDS = {
  skip: 'the row was skipped',
  fail: 'the row was not written',
  ask: "the row waits: answer the run's questions, then retry it",
}

const say = ({what, code, record, end}: Came) => {
  if (end) return `${what}: ${ENDS[end]}`
  if (record === null) return `${what}: the link was left empty`
  return `${what}: ${code === 'CHOSEN' ? 'the chosen record' : 'the first'} was linked`
}

type Ending = {want: Want; answer: LookupAnswer; came: Came; notes: LookupNote[]}

const endOf = ({run}: Context, track: Track, {number, key}: Row, {want, answer, came, notes}: Ending): Failure => ({
  ...{number, key, code: `LOOKUP_${came.code}`, message: say(came), target: want.field, notes},
  ...(came.end !== 'fail' && {end: 'skipped' as const}),
  ...(came.end === 'ask' && !run.dryRun && {asks: askingOf(track, want, answer, number)}),
})

const askingOf = (track: Track, want: Want, {candidates, found}: LookupAnswer, number: number): Asking => ({
  ...{key: keyOf(track, want), kind: 'lookup', flowId: track.id, module: want.link.lookup.module ?? 'users', field: want.field},
  ...{candidates, found, number},
})
