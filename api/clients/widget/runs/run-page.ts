import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {Known} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Before} from './before.ts'
import {chooseRun} from './choose.ts'
import {Download} from './downloads.ts'
import {expectFocus, useExpectedFocus} from './focus.ts'
import {Followed} from './followed.ts'
import {RunLine, WhyNotice} from './live-sheet.ts'
import {EveryRow, Outcomes} from './outcomes.ts'
import {Reasons} from './reasons.ts'
import {Retry} from './retry.ts'
import type {Run} from './run.ts'
import {sumCounts} from './tally.ts'
import {useTally} from './use-tally.ts'

/** Before a run, while it is under way, and what it came to. */
export const RunPage = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="run" actions=${html`<a class="button" href=${to('imports', id, 'runs')}>All runs</a>`}>
    ${(known: Known) => html`<${RunBody} id=${id} known=${known} />`}
  <//>
`

const RunBody = ({id, known}: {id: string; known: Known}) => {
  const isNew = place.value.query.get('new') !== null
  const runId = isNew ? null : chooseRun(known, {dryRun: false})
  const goOn = goIfHere()
  const started = async (next: string) => {
    expectFocus()
    goOn(to('imports', id, 'run', {run: next}))
    await known.again()
  }
  if (runId === null) return html`<${Before} id=${id} known=${known} onStarted=${started} />`
  return html`
    <${Followed} key=${runId} id=${id} runId=${runId} known=${known}>
      ${(run: Run) => html`<${Summary} id=${id} run=${run} known=${known} onStarted=${started} />`}
    <//>
  `
}

type SummaryProps = {id: string; run: Run; known: Known; onStarted: (run: string) => void}

const Summary = ({id, run, known, onStarted}: SummaryProps) => {
  const tally = useTally(id, run.expiredAt ? null : run.id)
  const {failed, refused, unanswered} = sumCounts(run.counts)
  const several = tally.sources.length > 1
  const focused = useExpectedFocus()
  return html`
    <section class="sheet" aria-labelledby="summary">
      <h2 id="summary" ref=${focused} tabindex="-1">${titleOf(run)}</h2>
      <${RunLine} run=${run} />
      <${WhyNotice} run=${run} actions=${null} />
      ${run.dryRun && html`<${Notice} title="This was a dry run"><a href=${to('imports', id, 'try', {run: run.id})}>Look at what it would have done</a><//>`}
      <${Outcomes} run=${run} importId=${id} />
      <${EveryRow} run=${run} />
      ${run.overageRows > 0 && html`<p class="hint">${run.overageRows.toLocaleString()} of them were beyond the plan and are billed one by one.</p>`}
      ${run.expiredAt && html`<p class="quiet">Its rows and files went at the end of the plan's history window; its counts are left.</p>`}
      ${
        !run.expiredAt &&
        html`
          <div class="actions">
            <a class="button main" href=${to('imports', id, 'results', {run: run.id})}>Look at the rows</a>
            ${!several && failed + refused > 0 && html`<${Download} importId=${id} run=${run.id} kind="failed">Download failed.csv<//>`}
            ${!several && html`<${Download} importId=${id} run=${run.id} kind="results">Download results.csv<//>`}
            ${run.questions > 0 && html`<a class="button" href=${to('imports', id, 'questions', {run: run.id})}>Answer questions</a>`}
          </div>
          ${several && html`<p class="hint">The run read several files: results.csv and failed.csv of each are with its rows.</p>`}
          <${Problem} error=${tally.error} again=${tally.again} />
          <${Reasons} tally=${tally} importId=${id} run=${run} />
          ${unanswered > 0 && html`<${Notice} kind="warning" title="Some rows had no answer">The CRM did not say whether it wrote them. A retry looks for each before it sends it again, so nothing is made twice.<//>`}
        `
      }
    </section>
    <${Retry} importId=${id} run=${run} known=${known} onStarted=${onStarted} />
    ${known.import.state !== 'expired' && may('operator') && html`<p class="begin-anew"><a href=${to('imports', id, 'run', {new: 'yes'})}>Start another run over all rows</a></p>`}
  `
}

const titleOf = (run: Run) => {
  if (run.stop) return 'What it came to before it ended'
  const {failed, refused, unanswered} = sumCounts(run.counts)
  return failed + refused + unanswered === 0 ? 'Done: no row failed' : 'Done: some rows were not written'
}
