import {questionKeyOf} from '../../../shared/mapping/flows/question-key.ts'
import {type Decision, findDecisions} from '../../../sql/decisions.ts'
import {mostCandidates, type NewQuestion} from '../../../sql/questions.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {logEntryOf} from '../settle/log-entries.ts'
import type {SettlementParts} from '../settle/settler.ts'

/**
 * Finds the decisions of users about the records that these rows match. Uses only decisions made before the run began, so every owner of the run
 * plans the same.
 */
export const findRowDecisions = async (ctx: Context, flow: CompiledFlow, rows: ImportRow[]): Promise<Map<ImportRow, Decision>> => {
  const {importNo} = ctx.run
  const upTo = ctx.snapshot.decidedUpTo
  const decided = new Map<ImportRow, Decision>()
  if (flow.onMany !== 'ask' || upTo === 0 || importNo === null) return decided
  const asking = rows.filter(row => row.matchKey && !row.decided).map(row => ({row, key: keyOf(flow, row)}))
  if (asking.length === 0) return decided
  const keys = asking.map(({key}) => key)
  const found = await findDecisions(ctx.hot, {importNo, upTo, flowId: flow.id, kind: 'match', keys})
  const byKey = new Map(found.map(decision => [decision.key.toString('hex'), decision]))
  for (const {row, key} of asking) {
    const decision = byKey.get(key.toString('hex'))
    if (decision) decided.set(row, decision)
  }
  return decided
}

/**
 * Adds the question which of the matching records the row writes. `matches`: their ids, oldest record first. A dry run also logs that a real run
 * would ask.
 */
export const addQuestion = (
  {run}: Pick<Context, 'run'>,
  flow: CompiledFlow,
  settled: SettlementParts,
  row: ImportRow,
  matches: string[],
) => {
  const asking: NewQuestion = {
    key: keyOf(flow, row),
    kind: 'match',
    flowId: flow.id,
    module: flow.module.apiName,
    field: null,
    candidates: matches.slice(0, mostCandidates),
    found: matches.length,
    number: row.number,
  }
  settled.asked.push(asking)
  if (run.dryRun) logWouldAsk(flow, settled, row, matches.length)
}

const logWouldAsk = (flow: CompiledFlow, settled: SettlementParts, row: ImportRow, found: number) =>
  settled.log.push(logEntryOf(flow, row, {phase: 'match', outcome: 'would_ask', code: String(found), message: `${found} records match`}))

const keyOf = (flow: CompiledFlow, row: ImportRow) => questionKeyOf({kind: 'match', flowId: flow.id, field: null, value: row.matchKey!})
