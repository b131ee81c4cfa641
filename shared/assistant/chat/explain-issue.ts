import {z} from 'zod'
import {findCheck, listCheckProblems} from '../../../sql/checks.ts'
import {countFailures} from '../../../sql/conversations.ts'
import type {Pool} from '../../../sql/database.ts'
import {listRuns} from '../../../sql/runs.ts'
import {Refusal} from '../../errors.ts'
import type {CheckProblem} from '../../mapping/checks/problem.ts'
import {describeRun} from '../../runs/describe.ts'
import {readRun} from '../../runs/names.ts'
import {fieldTest} from '../personal-columns.ts'
import type {ChatContext} from './context.ts'
import {chatTool, takeFitting} from './tool.ts'

const mostLookedAt = 2_000
const mostProblems = 30
const mostFailures = 20
/** Maximum number of log entries of a run that are counted, newest first. */
const mostEntries = 100_000
const noProblem = 'No such problem was found'

/**
 * Returns at most 30 problems of the last check, and the counts of at most 20 kinds of failures of the newest run. Cells are masked. The CRM's own
 * messages are not sent, because they quote records.
 */
export const explainIssue = (db: Pool) =>
  chatTool({
    name: 'explain_issue',
    description:
      'Lists the problems of the last check of the import and the failures of its last run: kinds, counts, how to fix each, and some cells or their shapes.',
    input: z.object({
      kind: z.string().max(100).nullish().describe('The kind of problem, such as invalid_value. Null: all kinds'),
      module: z.string().max(200).nullish(),
      field: z.string().max(200).nullish(),
    }),
    async run(context, asked) {
      const {import: found} = context
      if (!found) throw new Refusal('INVALID', 'The question names no import. Ask the user for the import')
      const check = await findCheck(db, {importNo: found.no, connector: found.connectorId})
      const listed = check ? await listCheckProblems(db, {check: check.no, after: 0, limit: mostLookedAt}) : []
      const problems = listed.map(({problem}) => problem as CheckProblem).filter(one => matchesQuery(one, asked))
      const {some, more} = takeFitting(await describeProblems(context, problems), 4_000)
      return {
        checked: check ? {at: check.endedAt, rows: check.rows} : null,
        problems: some,
        more: more || problems.length > mostProblems || listed.length === mostLookedAt,
        ...(problems.length === 0 && {note: noProblem}),
        run: await describeRunProblems(db, found.no, asked),
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

const describeRunProblems = async (db: Pool, importNo: number, {module}: IssueQuery) => {
  const [run] = await listRuns(db, {importNo, limit: 1})
  if (!run) return null
  const read = await readRun(db, run)
  const {state, outcome, counts, stop} = describeRun({run, importId: null, ...read})
  const failures = await countFailures(db, {run: run.no, most: mostEntries, limit: mostFailures})
  const failureCounts = failures.map(({module: no, outcome: what, code, count}) => ({
    module: read.names.modules.find(one => one.no === no)?.apiName ?? null,
    outcome: what,
    code,
    count,
  }))
  return {state, outcome, counts, stop: stop?.message ?? null, failures: failureCounts.filter(one => !module || one.module === module)}
}
