import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import {questionKeyOf} from '../../../shared/mapping/flows/question-key.ts'
import {type Decision, findDecisions} from '../../../sql/decisions.ts'
import type {NewQuestion} from '../../../sql/questions.ts'
import type {LookupAnswer} from '../../../sql/run-lookups.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, type ImportRow, isRow, type PendingLink, type RowFailure} from '../model.ts'
import {withRowKeys} from './compose-row.ts'
import type {LookupValues} from './lookups.ts'
import {findOwnParents, type OwnParent} from './own-parents.ts'

/**
 * A log entry about a link whose value did not find exactly one record. It has phase and outcome `lookup`, attempt 0 and the field as target. `code`:
 * `NONE`: no record; `MANY`: several; `CHOSEN`: several, and a user chose one before; `REFUSED`: the CRM cannot search for the value. If the link
 * ends the row, the row has the code `LOOKUP_NONE`, `LOOKUP_MANY` or `LOOKUP_REFUSED`. If a row of an earlier flow has the value but no record, the
 * code is `PARENT_FAILED`.
 */
export type LookupNote = {field: string; code: 'NONE' | 'MANY' | 'CHOSEN' | 'REFUSED'; message: string; recordId: string | null}

/** Resolves the links of rows. A row with an unresolved link ends or continues as its mapping says. */
export const linkRows = async (
  ctx: Context,
  flow: CompiledFlow,
  composed: (ImportRow | RowFailure)[],
): Promise<(ImportRow | RowFailure)[]> => {
  const wanting = composed.filter(one => isRow(one)).filter(({pendingLinks: wants}) => wants?.length)
  if (wanting.length === 0) return composed
  const wants = wanting.flatMap(row => row.pendingLinks!)
  const answers = await answerAll(ctx, wants)
  const missing = wants.filter(want => answers.get(want)!.found === 0)
  const own = missing.length > 0 ? await findOwnParents(ctx, flow, missing) : new Map<PendingLink, OwnParent>()
  for (const [want, parent] of own) if ('answer' in parent) answers.set(want, parent.answer)
  const decided = await findChosen(ctx, flow, wants, answers)
  const linked = new Map<ImportRow | RowFailure, ImportRow | RowFailure>(
    wanting.map(row => [row, link(ctx, flow, row, {answers, decided, own})]),
  )
  return composed.map(one => linked.get(one) ?? one)
}

type Answers = Map<PendingLink, LookupAnswer>

const answerAll = async (ctx: Context, wants: PendingLink[]): Promise<Answers> => {
  const answers: Answers = new Map()
  const groups = [...Map.groupBy(wants, ({link}) => link.lookup)].map(async ([lookup, mine]) => {
    const wanted: LookupValues = new Map()
    for (const {digest, text} of mine) if (digest !== null) wanted.set(digest, [...new Set([...(wanted.get(digest) ?? []), text])])
    const found = await ctx.lookups.answer(ctx, lookup, wanted)
    for (const want of mine) answers.set(want, (want.digest !== null && found.get(want.digest)) || {found: 0, candidates: []})
  })
  await settleAll(groups)
  return answers
}

/** Finds the users' decisions about values that match several records. Ignores decisions made after the run began. */
const findChosen = async (
  {run, snapshot, hot}: Context,
  flow: CompiledFlow,
  wants: PendingLink[],
  answers: Answers,
): Promise<Map<PendingLink, Decision>> => {
  const asking = wants.filter(want => want.link.onMany === 'ask' && answers.get(want)!.found > 1)
  if (asking.length === 0 || snapshot.decidedUpTo === 0 || run.importNo === null) return new Map()
  const keys = new Map(asking.map(want => [want, keyOf(flow, want)]))
  const wanted = {importNo: run.importNo, upTo: snapshot.decidedUpTo, flowId: flow.id, kind: 'lookup' as const, keys: [...keys.values()]}
  const found = new Map((await findDecisions(hot, wanted)).map(decision => [decision.key.toString('hex'), decision]))
  return new Map(asking.flatMap(want => (found.has(hexOf(keys.get(want)!)) ? [[want, found.get(hexOf(keys.get(want)!))!]] : [])))
}

const hexOf = (key: Buffer) => key.toString('hex')
const keyOf = (flow: CompiledFlow, {field, digest}: PendingLink) =>
  questionKeyOf({kind: 'lookup', flowId: flow.id, field, value: Buffer.from(digest!, 'latin1')})

type LinkInput = {answers: Answers; decided: Map<PendingLink, Decision>; own: Map<PendingLink, OwnParent>}
/**
 * The result of a link. `record`: the record to link; null for an empty link. `end`: how the row ends; null if it continues. `isParent`: a
 * row of an earlier flow has the value, but that row has no record.
 */
type LinkResult = {
  code: LookupNote['code']
  what: string
  record: string | null
  end: 'skip' | 'fail' | 'ask' | null
  isParent?: boolean
}

const link = (ctx: Context, flow: CompiledFlow, row: ImportRow, {answers, decided, own}: LinkInput): ImportRow | RowFailure => {
  const {pendingLinks: wants = [], ...rest} = row
  const payload = {...rest.payload}
  const notes: LookupNote[] = []
  const emptyLinks: string[] = []
  for (const want of wants) {
    const answer = answers.get(want)!
    if (answer.found === 1) {
      payload[want.field] = {id: answer.candidates[0]!}
      continue
    }
    const parent = own.get(want)
    const linkResult = {...judge(want, answer, decided.get(want)), ...(parent && 'why' in parent && {what: parent.why, isParent: true})}
    const {code, record} = linkResult
    notes.push({field: want.field, code, message: describeLinkResult(linkResult), recordId: record})
    if (linkResult.end) return endOf(ctx, flow, row, {want, answer, linkResult, notes})
    if (record !== null) payload[want.field] = {id: record}
    else emptyLinks.push(want.field)
  }
  const isKey = wants.some(({field}) => flow.matchFields.some(({apiName}) => apiName === field))
  const keys = isKey ? withRowKeys(flow, row.key, row.number, payload) : {payload}
  return {...rest, ...keys, ...(notes.length > 0 && {notes}), ...(emptyLinks.length > 0 && {emptyLinks})}
}

const judge = ({link}: PendingLink, {found, candidates}: LookupAnswer, decision: Decision | undefined): LinkResult => {
  const {onNone, onMany, lookup} = link
  const {apiName} = lookup.field
  const module = lookup.module ?? 'the users'
  const resultOf = (code: LinkResult['code'], what: string, record: string | null, end: LinkResult['end'] = null) => ({
    code,
    what,
    record,
    end,
  })
  if (found < 0) return resultOf('REFUSED', `The CRM cannot search ${module} for this ${apiName}`, null, 'fail')
  if (found === 0) return resultOf('NONE', `No record of ${module} has this ${apiName}`, null, onNone === 'leave' ? null : onNone)
  const what = `${found} records of ${module} have this ${apiName}`
  const how = onMany === 'ask' ? (decision?.choice ?? 'ask') : onMany
  // Only the oldest candidates are stored. If more records match, the chosen record may be one that is not stored.
  const isThere = candidates.includes(decision?.recordId ?? '') || found > candidates.length
  if (how === 'record' && isThere) return resultOf('CHOSEN', what, decision!.recordId)
  if (how === 'first') return resultOf('MANY', what, candidates[0]!)
  if (how === 'leave' || how === 'create') return resultOf('MANY', what, null)
  return resultOf('MANY', what, null, how === 'skip' || how === 'fail' ? how : 'ask')
}

const ENDS = {
  skip: 'the row was skipped',
  fail: 'the row was not written',
  ask: "the row waits: answer the run's questions, then retry it",
}

const describeLinkResult = ({what, code, record, end}: LinkResult) => {
  if (end) return `${what}: ${ENDS[end]}`
  if (record === null) return `${what}: the link was left empty`
  return `${what}: ${code === 'CHOSEN' ? 'the chosen record' : 'the first'} was linked`
}

type LinkEnding = {want: PendingLink; answer: LookupAnswer; linkResult: LinkResult; notes: LookupNote[]}

const endOf = (
  {run}: Context,
  flow: CompiledFlow,
  {number, key, unmapped}: ImportRow,
  {want, answer, linkResult, notes}: LinkEnding,
): RowFailure => ({
  number,
  key,
  code: linkResult.isParent ? 'PARENT_FAILED' : `LOOKUP_${linkResult.code}`,
  message: describeLinkResult(linkResult),
  target: want.field,
  notes,
  ...(unmapped && {unmapped}),
  ...(linkResult.end !== 'fail' && {end: 'skipped' as const}),
  ...(linkResult.end === 'ask' && !run.dryRun && {question: questionOf(flow, want, answer, number)}),
})

const questionOf = (flow: CompiledFlow, want: PendingLink, {candidates, found}: LookupAnswer, number: number): NewQuestion => ({
  key: keyOf(flow, want),
  kind: 'lookup',
  flowId: flow.id,
  module: want.link.lookup.module ?? 'users',
  field: want.field,
  candidates,
  found,
  number,
})
