import {questionKeyOf} from '../../shared/flows/question-key.ts'
import {type Decision, findDecisions} from '../../sql/decisions.ts'
import {type Asking, mostCandidates} from '../../sql/questions.ts'
import {outcomeNo, PHASES} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import type {Row, Track} from './row.ts'
import type {Settled} from './settler.ts'

/**
 * What people decided before the run began about rows whose match is not one record. A run knows the decisions of its snapshot and no
 * later ones, so that whoever takes it over plans the same.
 */
export const findDecided = async (ctx: Context, track: Track, rows: Row[]): Promise<Map<Row, Decision>> => {
  const {importNo} = ctx.run
  const upTo = ctx.snapshot.decidedUpTo
  const decided = new Map<Row, Decision>()
  if (track.onMany !== 'ask' || upTo === 0 || importNo === null) return decided
  const asking = rows.filter(row => row.matchKey && !row.decided).map(row => ({row, key: keyOf(track, row)}))
  if (asking.length === 0) return decided
  const keys = asking.map(({key}) => key)
  const found = await findDecisions(ctx.hot, {importNo, upTo, flowId: track.id, kind: 'match', keys})
  const byKey = new Map(found.map(decision => [decision.key.toString('hex'), decision]))
  for (const {row, key} of asking) {
    const decision = byKey.get(key.toString('hex'))
    if (decision) decided.set(row, decision)
  }
  return decided
}

/** The row waits for a person to choose between these records, the oldest first. A dry run says as well that a real one would ask. */
export const askAbout = ({run}: Pick<Context, 'run'>, track: Track, settled: Settled, row: Row, matches: string[]) => {
  const asking: Asking = {
    key: keyOf(track, row),
    kind: 'match',
    flowId: track.id,
    module: track.module.apiName,
    field: null,
    candidates: matches.slice(0, mostCandidates),
    found: matches.length,
    number: row.number,
  }
  settled.asked.push(asking)
  if (run.dryRun) noteWouldAsk(track, settled, row, matches.length)
}

const noteWouldAsk = (track: Track, settled: Settled, row: Row, found: number) =>
  settled.log.push({
    ...{key: row.key, flow: track.no, number: row.number, module: track.module.no, phase: PHASES.indexOf('match'), target: null},
    ...{attempt: 0, recordId: null, outcome: outcomeNo('would_ask'), code: String(found), message: `${found} records match`},
  })

const keyOf = (track: Track, row: Row) => questionKeyOf({kind: 'match', flowId: track.id, field: null, value: row.matchKey!})
