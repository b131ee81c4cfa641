import {html, type Markup} from '../html.ts'
import {ImportFrame, NextStep} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {Notice} from '../ui/notice.ts'
import {chooseRun, chooseSource, readByFlows, runsOf} from './choose.ts'
import {Download} from './downloads.ts'
import {expectFocus, useExpectedFocus} from './focus.ts'
import {Followed} from './followed.ts'
import {RunLine, WhyNotice} from './live-sheet.ts'
import {EveryRow} from './outcomes.ts'
import {PlanCounts} from './plan-counts.ts'
import {Reasons} from './reasons.ts'
import {RowsPanel} from './rows-panel.ts'
import type {Run} from './run.ts'
import {StartForm} from './start-form.ts'
import {useTally} from './use-tally.ts'

/** The dry run step: the planned result of every row, with nothing written. */
export const Try = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="try" lead="Preview what a run would do with every row. Nothing is written to the CRM or counted against your plan.">
    ${(loadedImport: LoadedImport) => html`<${TryBody} id=${id} known=${loadedImport} />`}
  <//>
`

const TryBody = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const runId = chooseRun(loadedImport, {dryRun: true})
  const goOn = goIfHere()
  const started = async (next: string) => {
    expectFocus()
    goOn(to('imports', id, 'try', {run: next}))
    await loadedImport.again()
  }
  const begin = html`<${Begin} id=${id} known=${loadedImport} isAgain=${runId !== null} isStale=${runsOf(loadedImport).some(({id: one, stale}) => one === runId && stale)} onStarted=${started} />`
  return runId === null
    ? begin
    : html`<${Followed} key=${runId} id=${id} runId=${runId} known=${loadedImport}>${(run: Run) => html`<${Plan} id=${id} run=${run} begin=${begin} />`}<//>`
}

const Begin = ({
  id,
  known: loadedImport,
  isAgain,
  isStale,
  onStarted,
}: {
  id: string
  known: LoadedImport
  isAgain: boolean
  isStale: boolean
  onStarted: (run: string) => void
}) => {
  if (loadedImport.import.state === 'expired' || !may('operator')) return null
  if (loadedImport.import.state === 'draft' || loadedImport.import.flows.length === 0) {
    const isWaiting = loadedImport.import.sources.length === 0
    return html`
      <${Notice} title=${isWaiting ? 'Add a file first' : 'Map the columns first'} actions=${html`<a class="button" href=${to('imports', id, isWaiting ? 'files' : 'mapping')}>${isWaiting ? 'Go to files' : 'Go to mapping'}</a>`}>
        A dry run needs a file and a mapping.
      <//>
    `
  }
  const form = html`<${StartForm} importId=${id} sources=${readByFlows(loadedImport)} dryRun=${true} target="" onStarted=${onStarted} />`
  if (isAgain) return html`<details class="sheet try-again" open=${isStale}><summary>Start another dry run</summary>${form}</details>`
  return html`<section class="sheet" aria-labelledby="begin-try"><h2 id="begin-try">Start a dry run</h2>${form}</section>`
}

const Plan = ({id, run, begin}: {id: string; run: Run; begin: Markup}) => {
  const tally = useTally(id, run.expiredAt ? null : run.id)
  const focused = useExpectedFocus()
  const source = chooseSource(tally)
  return html`
    <section class="sheet" aria-labelledby="plan">
      <h2 id="plan" ref=${focused} tabindex="-1">Plan</h2>
      <${RunLine} run=${run} />
      <${WhyNotice} run=${run} />
      ${run.stale && html`<${Notice} kind="warning" title="Out of date">Files, mappings or settings have changed since this dry run. Start another one below.<//>`}
      ${
        run.expiredAt
          ? html`<p>The rows of this dry run were deleted at the end of your plan's history window. The counts remain.</p><${EveryRow} run=${run} />`
          : html`<${PlanCounts} tally=${tally} run=${run} importId=${id} />`
      }
      <div class="row">
        ${!run.expiredAt && html`<${Download} importId=${id} run=${run.id} kind="plan" source=${source?.id}>Download plan.csv${source && ` of ${source.label}`}<//>`}
      </div>
      ${!run.expiredAt && html`<${Reasons} tally=${tally} importId=${id} run=${run} />`}
      <${NextStep} id=${id} step="run">Continue to run<//>
    </section>
    ${begin}
    ${!run.expiredAt && html`<${RowsPanel} importId=${id} run=${run} tally=${tally} />`}
  `
}
