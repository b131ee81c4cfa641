import {html, type Markup} from '../html.ts'
import {ImportFrame, NextStep} from '../imports/frame.ts'
import type {Known} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {Notice} from '../ui/notice.ts'
import {chooseRun, chooseSource, readByFlows} from './choose.ts'
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

/** A dry run: what a run would do, row by row, with nothing written. */
export const Try = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="try" lead="A dry run reads every row, asks the CRM what is there, and says what it would do. Nothing is written, nothing is counted.">
    ${(known: Known) => html`<${TryBody} id=${id} known=${known} />`}
  <//>
`

const TryBody = ({id, known}: {id: string; known: Known}) => {
  const runId = chooseRun(known, {dryRun: true})
  const goOn = goIfHere()
  const started = async (next: string) => {
    expectFocus()
    goOn(to('imports', id, 'try', {run: next}))
    await known.again()
  }
  const begin = html`<${Begin} id=${id} known=${known} isAgain=${runId !== null} onStarted=${started} />`
  return runId === null
    ? begin
    : html`<${Followed} key=${runId} id=${id} runId=${runId} known=${known}>${(run: Run) => html`<${Plan} id=${id} run=${run} begin=${begin} />`}<//>`
}

const Begin = ({id, known, isAgain, onStarted}: {id: string; known: Known; isAgain: boolean; onStarted: (run: string) => void}) => {
  if (known.import.state === 'expired' || !may('operator')) return null
  if (known.import.state === 'draft' || known.import.flows.length === 0) {
    const isWaiting = known.import.sources.length === 0
    return html`
      <${Notice} title=${isWaiting ? 'Add a file first' : 'Map the columns first'} actions=${html`<a class="button" href=${to('imports', id, isWaiting ? 'files' : 'mapping')}>${isWaiting ? 'Go to the files' : 'Go to the mapping'}</a>`}>
        There is nothing to try until it is known which column goes where.
      <//>
    `
  }
  const form = html`<${StartForm} importId=${id} sources=${readByFlows(known)} dryRun=${true} target="" onStarted=${onStarted} />`
  if (isAgain) return html`<details class="sheet try-again"><summary>Try again</summary>${form}</details>`
  return html`<section class="sheet" aria-labelledby="begin-try"><h2 id="begin-try">Start a dry run</h2>${form}</section>`
}

const Plan = ({id, run, begin}: {id: string; run: Run; begin: Markup}) => {
  const tally = useTally(id, run.expiredAt ? null : run.id)
  const focused = useExpectedFocus()
  const source = chooseSource(tally)
  return html`
    <section class="sheet" aria-labelledby="plan">
      <h2 id="plan" ref=${focused} tabindex="-1">What a run would do</h2>
      <${RunLine} run=${run} />
      <${WhyNotice} run=${run} />
      ${
        run.expiredAt
          ? html`<p>The rows of this dry run went at the end of the plan's history window; its counts are left.</p><${EveryRow} run=${run} />`
          : html`<${PlanCounts} tally=${tally} run=${run} importId=${id} />`
      }
      <div class="row">
        ${!run.expiredAt && html`<${Download} importId=${id} run=${run.id} kind="plan" source=${source?.id}>Download plan.csv${source && ` of ${source.label}`}<//>`}
      </div>
      ${!run.expiredAt && html`<${Reasons} tally=${tally} importId=${id} run=${run} />`}
      <${NextStep} id=${id} step="run">Go on to the run<//>
    </section>
    ${begin}
    ${!run.expiredAt && html`<${RowsPanel} importId=${id} run=${run} tally=${tally} />`}
  `
}
