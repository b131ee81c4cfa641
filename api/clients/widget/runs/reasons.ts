import {type Group, reasonsOf} from '../../run-reasons.ts'
import {html} from '../html.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'
import {CodeDetails} from '../ui/notice.ts'
import type {Run} from './run.ts'
import type {Tally} from './use-tally.ts'
import {adviceOf, sayReason} from './why.ts'

const mostShown = 8

/** The filters in the URL of a reason's rows. The URL omits an undefined filter. */
export type ReasonQuery = {code: string | undefined; outcome: string | undefined; module: string | undefined; phase: string}
type Props = {tally: Tally; run: Run; linkTo: (group: Group, query: ReasonQuery) => string}

export const Reasons = ({tally, run, linkTo}: Props) => {
  const reasons = reasonsOf(tally.groups)
  if (reasons.length === 0) return null
  return html`
    <h3>${run.dryRun ? t.whyRowsWouldNotBeWritten : t.whyRowsWereNotWritten}</h3>
    <ul class="plain run-reasons">
      ${reasons.slice(0, mostShown).map(group => html`<${Reason} key=${`${group.source} ${group.module} ${group.outcome} ${group.code} ${group.field} ${group.phase}`} group=${group} file=${tally.sources.length > 1 ? tally.sources.find(({id}) => id === group.source)?.label : undefined} linkTo=${linkTo} isOneModule=${new Set(reasons.map(({module}) => module)).size === 1} />`)}
    </ul>
    ${reasons.length > mostShown && html`<p class="hint">${t.andMoreReasonsFilterTheTableOf(reasons.length - mostShown)}</p>`}
  `
}

type ReasonProps = Pick<Props, 'linkTo'> & {group: Group; isOneModule: boolean; file: string | undefined}

const Reason = ({group, linkTo, isOneModule, file}: ReasonProps) => {
  const {rows, code, outcome, firstRow, moduleLabel, module, phase} = group
  const query = {
    code: code ?? undefined,
    outcome: code === null ? outcome : undefined,
    module: isOneModule ? undefined : module,
    phase,
  }
  const advice = adviceOf(group)
  return html`
    <li>
      <span class="reason-rows"><a href=${linkTo(group, query)} aria-label=${t.rowsShowRows(rows)}>${count(rows)}</a></span>
      <div>
        <p>${!isOneModule && `${moduleLabel}: `}${sayReason(group) ?? t.theCrmDidNotAnswerSoThe} <span class="quiet">${t.firstInRow(count(firstRow))}${file && t.ofFile(file)}</span></p>
        ${advice && html`<p class="hint">${advice}</p>`}
        ${code && html`<${CodeDetails} code=${code} />`}
      </div>
    </li>
  `
}
