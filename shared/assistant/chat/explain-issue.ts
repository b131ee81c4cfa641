import {z} from 'zod'
import {findCheck, listCheckProblems} from '../../../sql/checks.ts'
import type {Hot, Pool} from '../../../sql/database.ts'
import {findRecordsAt, type LogEntry, OUTCOMES, type OutcomeName, outcomeNo, PHASES} from '../../../sql/run-log.ts'
import {listRuns, type Run} from '../../../sql/runs.ts'
import {Refusal} from '../../errors.ts'
import type {CheckProblem} from '../../mapping/checks/problem.ts'
import {isStale} from '../../mapping/checks/read.ts'
import {describeRun} from '../../runs/describe.ts'
import {assertStillKept} from '../../runs/kept.ts'
import {readEntries} from '../../runs/log.ts'
import {readRun} from '../../runs/names.ts'
import {linesPerSegment} from '../../runs/segment.ts'
import type {Storage} from '../../storage/storage.ts'
import {fieldTest} from '../personal-columns.ts'
import type {ChatContext} from './context.ts'
import {chatTool, takeFitting} from './tool.ts'

const mostLookedAt = 2_000
const mostProblems = 30
const mostFailures = 20
/** Maximum number of log entries of a run that are counted, newest first. */
const mostEntries = 100_000
type ExplainDeps = {db: Pool; hot: Hot; storage: Storage}

const noProblem = 'No such problem was found'

/**
 * Returns at most 30 problems of the last check, and the counts of at most 20 kinds of failures per run. Cells are masked. The CRM's own
 * messages are not sent, because they quote records.
 */
export const explainIssue = (deps: ExplainDeps) =>
  chatTool({
    name: 'explain_issue',
    description:
      'Lists the problems of the last check of the import and the failures of its last run: kinds, counts, how to fix each, and some cells or their shapes. `stale`: an input changed since. `dryRun`: what a newer dry run predicts; it wrote nothing.',
    input: z.object({
      kind: z.string().max(100).nullish().describe('The kind of problem, such as invalid_value. Null: all kinds'),
      module: z.string().max(200).nullish(),
      field: z.string().max(200).nullish(),
    }),
    async run(context, asked) {
      const {db} = deps
      const {import: found} = context
      if (!found) throw new Refusal('INVALID', 'The question names no import. Ask the user for the import')
      const check = await findCheck(db, {importNo: found.no, connector: found.connectorId})
      const listed = check ? await listCheckProblems(db, {check: check.no, after: 0, limit: mostLookedAt}) : []
      const problems = listed.map(({problem}) => problem as CheckProblem).filter(one => matchesQuery(one, asked))
      const {some, more} = takeFitting(await describeProblems(context, problems), 4_000)
      return {
        checked: check ? {at: check.endedAt, rows: check.rows, stale: await isStale(db, found.no, check)} : null,
        problems: some,
        more: more || problems.length > mostProblems || listed.length === mostLookedAt,
        ...(problems.length === 0 && {note: noProblem}),
        ...(await describeLastRuns(deps, found.no, asked)),
      }
    },
  })

type IssueQuery = {kind?: string | null | undefined; module?: string | null | undefined; field?: string | null | undefined}

const matchesQuery = (problem: CheckProblem, {kind, module, field}: IssueQuery) =>
  (!kind || problem.kind === kind) && (!module || problem.module === module) && (!field || problem.field === field)

/**
 * Masks the cells of problems by the rules of their columns. A column that no file has is treated as personal. Messages are left out, because they
 * may quote cells of any column.
 */
const describeProblems = async ({files, personal, out}: ChatContext, problems: readonly CheckProblem[]) => {
  const isPersonal = fieldTest(personal)
  const first = problems.slice(0, mostProblems)
  const known = first.map(({source, column, module, field, samples}) => {
    const own = files.get(source ?? '')?.find(({name}) => name === column)
    return {name: column ?? '', samples: [...samples], pii: own?.pii !== false || isPersonal(module, field)}
  })
  const masked = await out.sample(known)
  return first.map(({severity, kind, column, module, field, count, fix}, at) => {
    const {name, samples, personal: isShapes} = masked[at]!
    // Some fixes quote the column name, which in a file without a header is a cell.
    const shownFix = column === null ? fix : fix.replaceAll(`"${column}"`, () => `"${name}"`)
    return {
      severity,
      kind,
      module,
      field,
      column: name || null,
      rows: count,
      fix: shownFix,
      ...(samples.length > 0 && {[isShapes ? 'shapes' : 'values']: samples}),
    }
  })
}

/** Describes the last started run that is neither a dry run nor an undo, and the last dry run if it is newer. */
const describeLastRuns = async (deps: ExplainDeps, importNo: number, query: IssueQuery) => {
  const listLast = (dryRun: boolean) => listRuns(deps.db, {importNo, limit: 1, withUndos: false, withUnstarted: false, dryRun})
  const [[run], [dryRun]] = await Promise.all([listLast(false), listLast(true)])
  return {
    run: run ? await describeRunProblems(deps, run, query) : null,
    dryRun: dryRun && dryRun.no > (run?.no ?? 0) ? await describeRunProblems(deps, dryRun, query) : null,
  }
}

const describeRunProblems = async (deps: ExplainDeps, run: Run, {module}: IssueQuery) => {
  const read = await readRun(deps.db, run)
  const {state, outcome, counts, stop, retryOf, begunUndo, stale} = describeRun({run, importId: null, ...read})
  const more = run.dryRun ? {stale} : {isRetry: retryOf !== null, isUndoBegun: begunUndo !== null}
  const about = {state, outcome, counts, stop: stop?.message ?? null, ...more}
  const failures = await readFailures(deps, run.no).catch(error => {
    if (error instanceof Refusal) return error
    throw error
  })
  // The records may have been deleted, or the storage may be unavailable. Then the answer has only the counts.
  if (failures instanceof Refusal) return {...about, failures: null, note: failures.message}
  const failureCounts = failures.map(({module: no, outcome: what, code, count}) => ({
    module: read.names.modules.find(one => one.no === no)?.apiName ?? null,
    outcome: what,
    code,
    count,
  }))
  return {...about, failures: failureCounts.filter(one => !module || one.module === module)}
}

const failed = new Set((['refused', 'unanswered', 'failed'] as const).map(outcomeNo))
const writePhase = PHASES.indexOf('write')

type Failure = {module: number; outcome: OutcomeName; code: string | null; count: number}

/** Counts the rows whose final outcome is a failure, by module, outcome and code, most frequent first. */
const readFailures = async (deps: ExplainDeps, run: number): Promise<readonly Failure[]> => {
  const failures = new Map<string, Failure>()
  for (const {module, outcome, code} of await readFinals(deps, run)) {
    if (!failed.has(outcome)) continue
    const key = JSON.stringify([module, outcome, code])
    const count = (failures.get(key)?.count ?? 0) + 1
    failures.set(key, {module, outcome: OUTCOMES[outcome]!, code, count})
  }
  return [...failures.values()].toSorted((one, other) => other.count - one.count).slice(0, mostFailures)
}

type Final = Pick<LogEntry, 'module' | 'outcome' | 'code' | 'attempt'>

/** Returns the final entry of each row in the write phase, by the rules of `listFinals`. Reads the newest entries, in the database or in storage. */
const readFinals = async (deps: ExplainDeps, run: number): Promise<Iterable<Final>> => {
  const {seq} = await findRecordsAt(deps.db, run)
  const finals = new Map<string, Final>()
  for (let after = Math.max(0, seq - mostEntries); after < seq; after += linesPerSegment) {
    for (const entry of await readEntries(deps, {run, after, limit: linesPerSegment})) {
      const {rowNumber, rowKey, flow, module, phase, outcome, code, attempt} = entry
      if (phase !== writePhase || outcome >= outcomeNo('made_after_no_answer')) continue
      const key = `${rowNumber} ${flow} ${module} ${rowKey}`
      const held = finals.get(key)
      if (!held || replaces(entry, held)) finals.set(key, {module, outcome, code, attempt})
    }
  }
  await assertStillKept(deps.db, run)
  return finals.values()
}

const unanswered = outcomeNo('unanswered')

/** Whether a later entry of a row replaces `held` as the final one: in the same attempt, `unanswered` replaces no answer. */
const replaces = (entry: Final, held: Final): boolean =>
  entry.attempt === held.attempt ? entry.outcome !== unanswered || held.outcome === unanswered : entry.attempt > held.attempt
