import {z} from 'zod'
import {findCheck, listCheckProblems} from '../../../sql/checks.ts'
import {countFailures} from '../../../sql/conversations.ts'
import type {Pool} from '../../../sql/database.ts'
import {listRuns} from '../../../sql/runs.ts'
import type {CheckProblem} from '../../checks/problem.ts'
import {Refusal} from '../../errors.ts'
import {describeRun} from '../../runs/describe.ts'
import {readRun} from '../../runs/names.ts'
import {fieldTest} from '../personal-columns.ts'
import type {ChatContext} from './context.ts'
import {chatTool, takeFitting} from './tool.ts'

const mostLookedAt = 2_000
const mostTold = 30
const mostFailures = 20
/** Of a run's log no more entries are looked at, the newest. */
const mostEntries = 100_000
const nowhere = 'Nothing of the kind was found'

/** Counts, kinds and what to do. Of cells what may leave of them; the CRM's own words about records, which quote them, stay here. */
export const explainIssue = (db: Pool) =>
  chatTool({
    name: 'explain_issue',
    description:
      'Tells what the last check of the import found and how its last run failed: kinds, counts, what to do about each, and some cells or their shapes.',
    input: z.object({
      kind: z.string().max(100).nullish().describe('The kind of a problem, such as invalid_value; null for all'),
      module: z.string().max(200).nullish(),
      field: z.string().max(200).nullish(),
    }),
    async run(context, asked) {
      const {import: found} = context
      if (!found) throw new Refusal('INVALID', 'No import is spoken of here: ask the user which it is')
      const check = await findCheck(db, {importNo: found.no, connector: found.connectorId})
      const listed = check ? await listCheckProblems(db, {check: check.no, after: 0, limit: mostLookedAt}) : []
      const problems = listed.map(({problem}) => problem as CheckProblem).filter(one => isAsked(one, asked))
      const {some, more} = takeFitting(tellProblems(context, problems), 4_000)
      return {
        checked: check ? {at: check.endedAt, rows: check.rows} : null,
        ...{problems: some, more, ...(problems.length === 0 && {note: nowhere})},
        run: await tellRun(db, found.no, asked),
      }
    },
  })

type Asked = {kind?: string | null | undefined; module?: string | null | undefined; field?: string | null | undefined}

const isAsked = (problem: CheckProblem, {kind, module, field}: Asked) =>
  (!kind || problem.kind === kind) && (!module || problem.module === module) && (!field || problem.field === field)

/** Its cells are its column's, and as personal as that; of a column that is in no file, nobody knows. Messages quote cells, of any column. */
const tellProblems = ({files, personal, out}: ChatContext, problems: readonly CheckProblem[]) => {
  const isPersonal = fieldTest(personal)
  const first = problems.slice(0, mostTold)
  const known = first.map(({source, column, module, field, samples}) => {
    const own = files.get(source ?? '')?.find(({name}) => name === column)
    return {name: column ?? '', samples: [...samples], pii: own?.pii !== false || isPersonal(module, field)}
  })
  const masked = out.sample(known)
  return first.map(({severity, kind, column, module, field, count, fix}, at) => {
    const {name, samples, personal: isShapes} = masked[at]!
    // Some name the column, which a file without a header calls by a cell.
    const told = column === null ? fix : fix.replaceAll(`"${column}"`, () => `"${name}"`)
    return {
      ...{severity, kind, module, field, column: name || null, rows: count, fix: told},
      ...(samples.length > 0 && {[isShapes ? 'shapes' : 'values']: samples}),
    }
  })
}

const tellRun = async (db: Pool, importNo: number, {module}: Asked) => {
  const [run] = await listRuns(db, {importNo, limit: 1})
  if (!run) return null
  const read = await readRun(db, run)
  const {state, outcome, counts, stop} = describeRun({run, importId: null, ...read})
  const failures = await countFailures(db, {run: run.no, most: mostEntries, limit: mostFailures})
  const told = failures.map(({module: no, outcome: what, code, count}) => ({
    ...{module: read.names.modules.find(one => one.no === no)?.apiName ?? null, outcome: what, code, count},
  }))
  return {state, outcome, counts, stop: stop?.message ?? null, failures: told.filter(one => !module || one.module === module)}
}
