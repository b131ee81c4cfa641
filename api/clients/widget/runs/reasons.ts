import {type Group, reasonsOf} from '../../run-reasons.ts'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'
import type {Run} from './run.ts'
import type {Tally} from './use-tally.ts'
import {adviceOf, sayReason} from './why.ts'

const mostShown = 8

/** Lists the reasons why rows were not written, each with advice and a link to its rows. */
export const Reasons = ({tally, importId, run}: {tally: Tally; importId: string; run: Run}) => {
  const reasons = reasonsOf(tally.groups)
  if (reasons.length === 0) return null
  return html`
    <h3>${run.dryRun ? t.whyRowsWouldNotBeWritten : t.whyRowsWereNotWritten}</h3>
    <ul class="plain run-reasons">
      ${reasons.slice(0, mostShown).map(group => html`<${Reason} key=${`${group.source} ${group.module} ${group.outcome} ${group.code} ${group.field} ${group.phase}`} group=${group} file=${tally.sources.length > 1 ? tally.sources.find(({id}) => id === group.source)?.label : undefined} importId=${importId} run=${run} isOneModule=${new Set(reasons.map(({module}) => module)).size === 1} />`)}
    </ul>
    ${reasons.length > mostShown && html`<p class="hint">${t.andMoreReasonsFilterTheTableOf(reasons.length - mostShown)}</p>`}
  `
}

const Reason = ({
  group,
  importId,
  run,
  isOneModule,
  file,
}: {
  group: Group
  importId: string
  run: Run
  isOneModule: boolean
  file: string | undefined
}) => {
  const {rows, code, outcome, firstRow, moduleLabel, module} = group
  const filter = {
    run: run.id,
    code: code ?? undefined,
    outcome: code === null ? outcome : undefined,
    module: isOneModule ? undefined : module,
  }
  const advice = adviceOf(group)
  return html`
    <li>
      <span class="reason-rows"><a href=${to('imports', importId, run.dryRun ? 'review' : 'results', filter)} aria-label=${t.rowsShowRows(rows)}>${count(rows)}</a></span>
      <div>
        <p>${!isOneModule && `${moduleLabel}: `}${sayReason(group) ?? t.theCrmDidNotAnswerSoThe} <span class="quiet">${t.firstInRow(count(firstRow))}${file && t.ofFile(file)}</span></p>
        ${advice && html`<p class="hint">${advice}</p>`}
        ${code && html`<details class="code-details"><summary>${t.details}</summary><code class="code">${code}</code></details>`}
      </div>
    </li>
  `
}
