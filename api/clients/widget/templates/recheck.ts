import {html} from '../html.ts'
import {sayFix} from '../imports/check-words.ts'
import {useFieldLabels} from '../imports/module-data.ts'
import {sayRowReason} from '../text/errors.ts'
import {t} from '../text/schedules.ts'
import {sayName} from '../ui/labels.ts'
import {Notice} from '../ui/notice.ts'

type RecheckProblem = {severity: string; kind: string; module: string; field: string | null; rows: number | null; fix: string}
export type Recheck = {rows: number; problems: RecheckProblem[]}

/** Shows the problems that changes in the CRM may cause for the template's newest import, each with the number of affected rows. */
export const RecheckNotice = ({recheck, connectorId}: {recheck: Recheck | null; connectorId: string | null}) => {
  const problems = recheck?.problems ?? []
  const labelOf = useFieldLabels(connectorId ?? '', connectorId === null ? [] : [...new Set(problems.map(({module}) => module))])
  if (problems.length === 0) return null
  const isBad = problems.some(({severity}) => severity === 'error')
  return html`
    <${Notice} kind=${isBad ? 'bad' : 'warning'} title=${t.theCrmHasChanged}>
      <ul>${problems.map(problem => html`<li>${describe(problem, recheck!.rows, labelOf)}</li>`)}</ul>
    <//>
  `
}

const describe = (problem: RecheckProblem, total: number, labelOf: (module: string, field: string) => string) => {
  const {module, field, kind, rows} = problem
  const label = field === null ? null : labelOf(module, field)
  const reason = sayRowReason(kind.toUpperCase(), label)
  const share =
    rows === null ? t.theFlowNoLongerFits : t.rowsNoLongerFit(Math.max(1, Math.floor((100 * rows) / Math.max(total, rows))), rows, total)
  return html`<strong>${label ?? sayName(module)}</strong>: ${share}. ${reason === null ? '' : `${reason}. `}${sayFix(problem)}`
}
