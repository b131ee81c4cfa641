import {creditsPerJob} from '../../../shared/crm/bulk/bulk-read.ts'
import {mostEmptyResults} from '../../../shared/crm/controls.ts'
import {mostLarge} from '../../../shared/crm/limits/fair-share.ts'
import type {Snapshot} from '../../../shared/mapping/flows/snapshot.ts'
import type {CountSpan} from '../../../shared/runs/forecast/forecast.ts'
import {isComparable} from '../../engine/match/compare-values.ts'
import type {CompiledFlow} from '../../engine/model.ts'
import {readsAtOnce} from '../../engine/subform/pack.ts'
import {bulkWritesOf} from './bulk-route.ts'
import {addCalls, type CallPlan, countBatches, plainCalls, recordsPerCall, spanOf, tagsOf, writesOf} from './call-plan.ts'
import {maxPollsOf} from './job-polls.ts'
import type {PlannedSteps} from './planned-steps.ts'
import type {FlowTally} from './tally-rows.ts'

/**
 * A flow with the counts of its file. `patch`: its patch pass. `written`: how many of its rows are written. `steps`: what a current dry run
 * planned; null without one. `tags`: whether a tag pass follows.
 */
export type PlannedFlow = {
  flow: CompiledFlow
  tally: FlowTally
  steps: PlannedSteps | null
  patch: {flow: CompiledFlow; tally: FlowTally} | null
  written: CountSpan
  tags: boolean
}

/**
 * `stores`: whether the run stores before images. `isRecent`: whether any run at the CRM org is open or has just ended, so that queries may miss its
 * writes. `columns`: the maximum columns of one query. `fieldsPerRead`: the maximum fields of one read by id. `exports`: by flow number.
 */
export type RunFacts = {
  snapshot: Snapshot
  stores: boolean
  isRecent: boolean
  columns: number
  fieldsPerRead: number
  exports?: ReadonlyMap<number, ExportPlan>
  bulkFlows?: ReadonlySet<number>
}
/** An export that a flow matches against. `seconds`: the time until the run ends, during which the run reads the changes of the module. */
export type ExportPlan = {jobs: number; jobSeconds: number; seconds: number}

/**
 * Plans the calls of a run. By default, the run finds records by queries and writes them by record calls; `exports` and `bulkFlows` change that. A
 * count that depends on the CRM is a range.
 */
export const planCalls = (flows: PlannedFlow[], facts: RunFacts): CallPlan => {
  const plan: CallPlan = new Map()
  const newestRead = new Set<number>()
  for (const planned of flows) {
    const {flow, tally} = planned
    planLookups(plan, tally, facts)
    if (flow.subform) planSubform(plan, planned, flows)
    else {
      if (flow.uniqueFields.length > 0 && !newestRead.has(flow.module.no)) addCalls(plan, 'read', plainCalls(1))
      if (flow.uniqueFields.length > 0) newestRead.add(flow.module.no)
      planMatches(plan, planned, facts)
      if (flow.deletes) planDeletes(plan, planned, facts)
      else planWrites(plan, planned, facts)
    }
    if (planned.tags) addCalls(plan, 'tag', tagsOf(planned.written, countRepeated(planned)))
    if (planned.patch) planPatches(plan, planned, planned.patch, facts)
  }
  return plan
}

/**
 * The kind of the extra calls of queries, which the kind `query` includes: calls that look for the control of a field, and queries that are
 * repeated with the control. A control is a value that a record is known to hold (shared/crm/controls.ts).
 */
export const CONTROLS = 'control'

/**
 * Numbers of calls of a search that finds a control, and of one that finds none. After the latter, a run accepts empty answers and repeats no query.
 */
const [callsOfControl, callsWithoutControl] = [2, 1 + mostEmptyResults] as const

/**
 * Plans the queries by one field. All queries in flight before the first control is found are repeated if they find nothing. A slow search index,
 * a new owner of the run and the deletion of a control's record can cause more calls.
 */
const planQueries = (plan: CallPlan, {queries, credits}: {queries: number; credits: number}, least = 1) => {
  if (queries === 0) return
  const repeated = Math.min(queries, mostLarge)
  const more = Math.max(callsWithoutControl, callsOfControl + repeated)
  const moreCredits = Math.max(callsWithoutControl, callsOfControl + repeated * Math.ceil(credits / queries))
  addCalls(plan, 'query', {
    calls: spanOf(queries * least, queries + more),
    credits: spanOf(credits * least, credits + moreCredits),
  })
  addCalls(plan, CONTROLS, {calls: spanOf(0, more), credits: spanOf(0, moreCredits)})
}

const planLookups = (plan: CallPlan, {lookups}: FlowTally, {snapshot}: RunFacts) => {
  for (const [no, tally] of lookups) {
    const lookup = snapshot.lookups.find(one => one.no === no)!
    // Records that this import writes are found without a query.
    const least = lookup.ownModule === null ? 1 : 0
    if (lookup.module === null) addCalls(plan, 'users', plainCalls(1))
    else if (lookup.method === 'word') addCalls(plan, 'search', plainCalls(tally.values * least, tally.values))
    else planQueries(plan, tally, least)
  }
}

const planMatches = (plan: CallPlan, {flow, tally, steps}: PlannedFlow, facts: RunFacts) => {
  if (tally.queries === 0) return
  const exported = facts.exports?.get(flow.no)
  // Rows that an export lacks are queried.
  if (!exported || !steps || steps.creates + steps.refused > 0)
    planQueries(plan, {queries: tally.queries, credits: tally.queryCredits}, exported ? 0 : 1)
  if (exported) planExport(plan, exported)
  const columns = columnsOf(flow)
  if (columns > facts.columns) planReads(plan, spanOf(0, tally.keyed), columns - facts.columns, facts, tally.queries)
  if (flow.comparedFields && isStale(flow, facts)) planReads(plan, spanOf(0, tally.keyed), flow.comparedFields.length, facts, tally.queries)
}

/** The interval at which a run reads the changes of a module, and the credits of one read. */
const [changesEverySeconds, changesCredits] = [30, 3] as const

/** The calls of a short job besides its start: a poll and the download. */
const fewestJobCalls = 2

const planExport = (plan: CallPlan, {jobs, jobSeconds, seconds}: ExportPlan) => {
  const reads = 1 + Math.ceil(seconds / changesEverySeconds)
  const mostJobCalls = maxPollsOf(jobSeconds) + 1
  addCalls(plan, 'bulk_read', {
    calls: spanOf(jobs * (1 + fewestJobCalls), jobs * (1 + mostJobCalls)),
    credits: spanOf(jobs * (creditsPerJob + fewestJobCalls), jobs * (creditsPerJob + mostJobCalls)),
  })
  addCalls(plan, 'query', {calls: spanOf(1, reads), credits: spanOf(changesCredits, reads * changesCredits)})
  addCalls(plan, 'read', plainCalls(1, reads))
}

const columnsOf = ({matchFields, comparedFields}: CompiledFlow) =>
  new Set([...matchFields, ...(comparedFields ?? [])].map(({apiName}) => apiName)).size

const isStale = ({module}: CompiledFlow, {snapshot, isRecent}: RunFacts) =>
  isRecent || snapshot.flows.filter(({moduleNo}) => moduleNo === module.no).length > 1

/** Adds reads by id of these records. `parts`: the maximum number of part-filled calls. */
const planReads = (plan: CallPlan, {min, max}: CountSpan, fields: number, {fieldsPerRead}: RunFacts, parts = 0) => {
  const perRecord = Math.max(1, Math.ceil(fields / fieldsPerRead))
  addCalls(plan, 'read', plainCalls(countBatches(min) * perRecord, (countBatches(max) + (max > 0 ? parts : 0)) * perRecord))
}

const planDeletes = (plan: CallPlan, {flow, tally, written}: PlannedFlow, facts: RunFacts) => {
  planReads(plan, written, facts.stores ? flow.module.fields.length : flow.matchFields.length, facts)
  addCalls(plan, 'delete', plainCalls(countBatches(written.min), countBatches(written.max) + Math.min(1, tally.repeated)))
}

const planWrites = (plan: CallPlan, planned: PlannedFlow, facts: RunFacts) => {
  const {flow, tally, written} = planned
  const mayUpdate = tally.keyed > 0 && flow.onOne === 'update'
  const {creates, updates} = mayUpdate ? divideWritten(planned) : {creates: written, updates: spanOf(0)}
  if (facts.bulkFlows?.has(flow.no)) {
    addCalls(plan, 'bulk_write', bulkWritesOf(mayUpdate ? [creates, updates] : [written], written))
    if (mayUpdate && (facts.stores || flow.edits)) planReads(plan, updates, flow.mappings.length, facts)
    return
  }
  // A row whose match value an earlier row has waits for that row, so its batch may be part-filled.
  const parts = tally.repeated
  addCalls(plan, 'create', writesOf(creates, parts))
  if (!mayUpdate) return addCalls(plan, WRITES, writesOf(written, parts))
  addCalls(plan, 'update', writesOf(updates, parts))
  addCalls(plan, WRITES, writesOf(written, parts + (creates.max > 0 && updates.max > 0 ? 1 : 0)))
  planUpdateReads(plan, {flow, tally, updates: planned.steps ? updates : spanOf(0, updates.max)}, facts)
}

/** Counts the rows that may share a record with an earlier row. */
const countRepeated = ({flow, tally}: PlannedFlow): number => (flow.onOne === 'create' ? 0 : tally.repeated)

/** Divides the written rows into creates and updates. Only the CRM or a dry run knows which are which. */
const divideWritten = ({tally, written, steps}: PlannedFlow): {creates: CountSpan; updates: CountSpan} => {
  if (steps)
    return {
      creates: spanOf(steps.creates, steps.creates + steps.refused),
      updates: spanOf(steps.updates, steps.updates + steps.refused),
    }
  return {creates: spanOf(tally.rows - tally.keyed, written.max), updates: spanOf(0, Math.min(written.max, tally.keyed))}
}

/** The kind under which creates and updates are planned together, because each record is either created or updated. */
export const WRITES = 'create or update'

type UpdateReads = {flow: CompiledFlow; tally: FlowTally; updates: CountSpan}

/** Plans the reads by id before updates: for before images and comparisons that the query did not answer. */
const planUpdateReads = (plan: CallPlan, {flow, tally, updates}: UpdateReads, facts: RunFacts) => {
  const fields = flow.mappings.length + (flow.parent ? 1 : 0)
  const parts = tally.queries
  if (flow.edits && isStale(flow, facts)) planReads(plan, updates, flow.edits.fields.size, facts, parts)
  if (flow.comparedFields && flow.parent) planReads(plan, updates, flow.comparedFields.length, facts, parts)
  if (!facts.stores && !flow.edits) return
  // An export contains digests instead of values, so the records of each batch are read.
  if (facts.exports?.has(flow.no)) return planReads(plan, updates, fields, facts, tally.repeated + 1)
  const isShown = flow.mappings.every(({field}) => isComparable(field)) && columnsOf(flow) + fields <= facts.columns
  if (facts.stores && (!isShown || isStale(flow, facts) || flow.parent)) planReads(plan, updates, fields, facts, parts)
  else if (tally.longTexts > 0) planReads(plan, spanOf(0, tally.longTexts), fields, facts, countBatches(updates.max))
  // The CRM may return a text incomplete. One more call then reads the whole text of that record.
  if (facts.stores) addCalls(plan, 'read', plainCalls(0, tally.longTexts))
}

/** Plans the calls of a subform flow: a read of each parent that may have existed, and the replacement of its rows. */
const planSubform = (plan: CallPlan, {flow, tally}: PlannedFlow, flows: PlannedFlow[]) => {
  const {link, nested} = flow.subform!
  const parents = flows.find(one => one.flow.no === link.flow.no)
  const mayRead = !parents || (parents.tally.keyed > 0 && parents.flow.onOne !== 'create')
  const read = spanOf(0, mayRead ? tally.parents : 0)
  const replaced = spanOf(nested ? 0 : tally.parents, nested && !mayRead ? 0 : tally.parents)
  addCalls(plan, 'read', plainCalls(read.min, read.max))
  const packs = (groups: number, size: number) => Math.floor(groups / size) * Math.ceil(size / 10) + Math.ceil((groups % size) / 10)
  addCalls(plan, 'replace_rows', {
    calls: spanOf(countBatches(replaced.min), Math.ceil(replaced.max / readsAtOnce)),
    credits: spanOf(packs(replaced.min, recordsPerCall), packs(replaced.max, mayRead ? readsAtOnce : recordsPerCall)),
  })
}

const planPatches = (plan: CallPlan, planned: PlannedFlow, {flow, tally}: {flow: CompiledFlow; tally: FlowTally}, facts: RunFacts) => {
  planLookups(plan, tally, facts)
  const rules = [...flow.patchPlan!.rules.values()]
  const fields = rules.length
  const rows = Math.min(tally.rows, planned.tally.rows)
  const most = spanOf(0, rows)
  const isCertain =
    rules.every(({hows, onlyAbsent}) => hows.size >= createdAndUpdated && !onlyAbsent) &&
    !flow.comparedFields &&
    !flow.edits &&
    !flow.patchPlan!.parent
  const updates = spanOf(isCertain ? Math.max(0, rows - (planned.tally.rows - planned.written.min)) : 0, rows)
  // If an earlier row patches the same record, the later row waits for it, so its calls may be part-filled.
  const parts = countRepeated(planned)
  const chunks = Math.ceil(rows / rowsPerChunk) + parts
  if (rules.some(({onlyAbsent}) => onlyAbsent)) planReads(plan, most, fields, facts, chunks)
  if (flow.comparedFields) planReads(plan, most, flow.comparedFields.length, facts, chunks)
  if (flow.edits) planReads(plan, most, flow.edits.fields.size, facts, chunks)
  if (facts.stores) planReads(plan, updates, fields, facts, parts)
  if (facts.stores) addCalls(plan, 'read', plainCalls(0, tally.longTexts))
  addCalls(plan, 'update', writesOf(updates, parts + 1))
  addCalls(plan, WRITES, writesOf(updates, parts + 1))
}

const rowsPerChunk = 500
/** A patch rule for both `created` and `updated` has at least this many codes of `HOW`: made, taken, updated and unchanged. */
const createdAndUpdated = 4
