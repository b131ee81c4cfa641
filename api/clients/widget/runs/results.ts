import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {Known} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {go, to} from '../state/place.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {chooseRun, chooseSource, runsOf} from './choose.ts'
import {Download} from './downloads.ts'
import {Followed} from './followed.ts'
import {RunLine} from './live-sheet.ts'
import {EveryRow} from './outcomes.ts'
import {RowsPanel} from './rows-panel.ts'
import {isUnderWay, kindOf, type Run, sayState} from './run.ts'
import {sumCounts} from './tally.ts'
import {useTally} from './use-tally.ts'

/** What became of each row of a run. */
export const Results = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="results" actions=${html`<a class="button" href=${to('imports', id, 'runs')}>All runs</a>`}>
    ${(known: Known) => html`<${ResultsBody} id=${id} known=${known} />`}
  <//>
`

const ResultsBody = ({id, known}: {id: string; known: Known}) => {
  const runId = chooseRun(known, {dryRun: false})
  if (runId === null)
    return html`<div class="empty"><p>Nothing has run yet.</p><a class="button" href=${to('imports', id, 'run')}>Go to the run</a></div>`
  return html`<${Followed} key=${runId} id=${id} runId=${runId} known=${known} isAlways>${(run: Run) => html`<${RunResults} id=${id} run=${run} known=${known} />`}<//>`
}

const RunResults = ({id, run, known}: {id: string; run: Run; known: Known}) => {
  const tally = useTally(id, run.expiredAt || run.dryRun ? null : run.id, isUnderWay(run))
  const {failed, refused} = sumCounts(run.counts)
  const runs = runsOf(known).filter(({dryRun, state}) => !dryRun && state !== 'authorised')
  const source = chooseSource(tally)
  if (run.dryRun)
    return html`<${Notice} title="This was a dry run"><a href=${to('imports', id, 'try', {run: run.id})}>Look at what it would have done</a><//>`
  return html`
    <div class="results-head">
      <div class="grow"><${RunLine} run=${run} /><${EveryRow} run=${run} /></div>
      ${runs.length > 1 && html`<${Select} label="Run" value=${run.id} options=${runs.map(one => ({value: one.id, label: `${kindOf(one)}, ${at(one.authorisedAt)}, ${sayState(one).word.toLowerCase()}`}))} onChange=${(value: string) => go(to('imports', id, 'results', {run: value}))} />`}
    </div>
    ${isUnderWay(run) && html`<${Notice} title="This run is under way" actions=${html`<a class="button" href=${to('imports', id, 'run', {run: run.id})}>Watch it</a>`}>Rows are told as far as it has come, and anew every few seconds.<//>`}
    ${
      run.expiredAt
        ? html`<${Notice} title="The rows of this run are gone">They went at the end of the plan's history window, on ${at(run.expiredAt)}. Its counts are left.<//>`
        : html`
          <div class="actions">
            <${Download} importId=${id} run=${run.id} kind="results" source=${source?.id}>Download results.csv${source && ` of ${source.label}`}<//>
            ${failed + refused > 0 && html`<${Download} importId=${id} run=${run.id} kind="failed" source=${source?.id}>Download failed.csv${source && ` of ${source.label}`}<//>`}
            ${run.questions > 0 && html`<a class="button" href=${to('imports', id, 'questions', {run: run.id})}>Answer questions</a>`}
          </div>
          <${Problem} error=${tally.error} again=${tally.again} />
          <${RowsPanel} importId=${id} run=${run} tally=${tally} />
        `
    }
  `
}
