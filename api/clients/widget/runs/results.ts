import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {embed} from '../state/embed.ts'
import {go, to} from '../state/place.ts'
import {inSentence} from '../text/language.ts'
import {t} from '../text/runs.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {chooseRun, chooseSource, runsOf} from './choose.ts'
import {Download} from './downloads.ts'
import {FixRows} from './fix-rows.ts'
import {Followed} from './followed.ts'
import {RunLine} from './live-sheet.ts'
import {EmptyLinks, EveryRow, UnmappedValues} from './outcomes.ts'
import {QuestionsLink} from './questions-link.ts'
import {RowsPanel} from './rows-panel.ts'
import {isUnderWay, kindOf, type Run, sayState} from './run.ts'
import {sumCounts} from './tally.ts'
import {useTally} from './use-tally.ts'
import {Verification} from './verification.ts'

export const Results = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="results" actions=${html`<a class="button" href=${to('imports', id, 'runs')}>${t.allRuns}</a>`}>
    ${(loadedImport: LoadedImport) => html`<${ResultsBody} id=${id} known=${loadedImport} />`}
  <//>
`

const ResultsBody = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const runId = chooseRun(loadedImport, {dryRun: false})
  if (runId === null)
    return html`<div class="empty"><p>${t.noRunsYet}</p><a class="button" href=${to('imports', id, 'run')}>${t.startARun}</a></div>`
  return html`<${Followed} key=${runId} id=${id} runId=${runId} known=${loadedImport} isAlways>${(run: Run) => html`<${RunResults} id=${id} run=${run} known=${loadedImport} />`}<//>`
}

const RunResults = ({id, run, known: loadedImport}: {id: string; run: Run; known: LoadedImport}) => {
  const tally = useTally(id, run.expiredAt || run.dryRun ? null : run.id, isUnderWay(run))
  const {failed, refused} = sumCounts(run.counts)
  const runs = runsOf(loadedImport).filter(({dryRun, state}) => !dryRun && state !== 'authorised')
  const source = chooseSource(tally)
  if (run.dryRun)
    return html`<${Notice} title=${t.thisWasADryRun}><a href=${to('imports', id, 'review', {run: run.id})}>${t.viewItsPlan}</a><//>`
  return html`
    <div class="results-head">
      <div class="grow"><${RunLine} run=${run} /><${EveryRow} run=${run} /><${UnmappedValues} run=${run} found=${loadedImport.import} /></div>
      ${runs.length > 1 && html`<${Select} label=${t.run} value=${run.id} options=${runs.map(one => ({value: one.id, label: `${kindOf(one)}, ${at(one.authorisedAt)}, ${inSentence(sayState(one).word)}`}))} onChange=${(value: string) => go(to('imports', id, 'results', {run: value}))} />`}
    </div>
    ${isUnderWay(run) && html`<${Notice} title=${t.thisRunIsInProgress} actions=${html`<a class="button" href=${to('imports', id, 'run', {run: run.id})}>${t.viewRun}</a>`}>${t.theRowsBelowAreUpdatedEveryFew}<//>`}
    ${
      run.expiredAt
        ? html`<${Notice} title=${t.theRowsOfThisRunWereDeleted}>${t.theHistoryWindowOfYourPlanEnded(at(run.expiredAt))}<//>`
        : html`
          <div class="actions">
            <${QuestionsLink} importId=${id} run=${run} />
            <${Download} found=${loadedImport.import} run=${run} kind="results" source=${source}>${t.downloadResultsCsv}${source && t.ofFile(source.label)}<//>
            ${failed + refused > 0 && html`<${Download} found=${loadedImport.import} run=${run} kind="failed" source=${source}>${t.downloadFailedCsv}${source && t.ofFile(source.label)}<//>`}
          </div>
          <${EmptyLinks} run=${run} found=${loadedImport.import} />
          <${Verification} run=${run} found=${loadedImport.import} />
          ${!embed.value && html`<${FixRows} importId=${id} run=${run} source=${source} isReady=${tally.sources.length > 0} known=${loadedImport} />`}
          <${Problem} error=${tally.error} again=${tally.again} />
          <${RowsPanel} importId=${id} run=${run} tally=${tally} />
        `
    }
  `
}
