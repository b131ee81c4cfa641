import type {Group} from '../../run-reasons.ts'
import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {embed} from '../state/embed.ts'
import {goIfHere, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {chooseRun} from './choose.ts'
import {sayDeleted} from './delete-form.ts'
import {Download} from './downloads.ts'
import {expectFocus, useExpectedFocus} from './focus.ts'
import {Followed} from './followed.ts'
import {RunLine, WhyNotice} from './live-sheet.ts'
import {findRepeatingFlows} from './new-run.ts'
import {EveryRow, Outcomes, UnmappedValues} from './outcomes.ts'
import {needsAnswers, QuestionsLink} from './questions-link.ts'
import {type ReasonQuery, Reasons} from './reasons.ts'
import {Repeat} from './repeat.ts'
import {Retry} from './retry.ts'
import {tabOfGroup} from './review-tabs.ts'
import {isRetriable, type Run, sayState} from './run.ts'
import {leftOf, sumCounts} from './tally.ts'
import {Undo, UndoResult} from './undo.ts'
import {useTally} from './use-tally.ts'

export const RunPage = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="run" actions=${html`<a class="button" href=${to('imports', id, 'runs')}>${t.allRuns}</a>`}>
    ${(loadedImport: LoadedImport) => html`<${RunBody} id=${id} known=${loadedImport} />`}
  <//>
`

const RunBody = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const runId = chooseRun(loadedImport, {dryRun: false})
  const goOn = goIfHere()
  const started = async (next: string) => {
    expectFocus()
    goOn(to('imports', id, 'run', {run: next}))
    await loadedImport.again()
  }
  if (runId === null)
    return html`<${Notice} title=${t.notStartedYet} actions=${html`<a class="button main" href=${to('imports', id, 'review')}>${t.review}</a>`}>${t.reviewTheRowsThenStartTheImport}<//>`
  return html`
    <${Followed} key=${runId} id=${id} runId=${runId} known=${loadedImport}>
      ${(run: Run) => html`<${Summary} id=${id} run=${run} known=${loadedImport} onStarted=${started} />`}
    <//>
  `
}

type SummaryProps = {id: string; run: Run; known: LoadedImport; onStarted: (run: string) => void}

const Summary = ({id, run, known: loadedImport, onStarted}: SummaryProps) => {
  const tally = useTally(id, run.expiredAt ? null : run.id)
  const {failed, refused, unanswered} = sumCounts(run.counts)
  const several = tally.sources.length > 1
  const focused = useExpectedFocus()
  const main = mainActionOf(run)
  const hasRowsToFix = failed + refused > 0 && isRetriable(run) && !run.retriedBy && may('operator')
  // The results page shows no rows of dry runs.
  const rowsStep = run.dryRun ? 'review' : 'results'
  const linkTo = (group: Group, query: ReasonQuery) =>
    to('imports', id, rowsStep, {run: run.id, tab: run.dryRun ? tabOfGroup(group) : undefined, source: group.source, ...query})
  return html`
    <section class="sheet" aria-labelledby="summary">
      <h2 id="summary" ref=${focused} tabindex="-1">${titleOf(run)}</h2>
      <${RunLine} run=${run} />
      <${WhyNotice} run=${run} actions=${null} />
      ${sayDeleted(run) && html`<${Notice} title=${sayDeleted(run)!}>${t.theyAreInTheRecycleBinOf}<//>`}
      <${UndoResult} run=${run} importId=${id} onStarted=${onStarted} />
      ${run.dryRun && !run.undoOf && html`<${Notice} title=${t.thisWasADryRun}><a href=${to('imports', id, 'review', {run: run.id})}>${t.viewItsPlan}</a><//>`}
      <${Outcomes} run=${run} importId=${id} />
      <${EveryRow} run=${run} />
      <${UnmappedValues} run=${run} found=${loadedImport.import} />
      ${run.overageRows > 0 && html`<p class="hint">${t.ofThemAreBeyondThePlanAnd(count(run.overageRows))}</p>`}
      ${run.expiredAt && html`<p class="quiet">${t.itsRowsAndFilesWereDeletedAt}</p>`}
      ${
        !run.expiredAt &&
        html`
          <div class="actions">
            <${QuestionsLink} importId=${id} run=${run} />
            <a class=${main === 'rows' ? 'button main' : 'button'} href=${to('imports', id, rowsStep, {run: run.id})}>${hasRowsToFix ? t.fixRows(failed + refused) : t.viewRows}</a>
            ${!run.dryRun && !several && failed + refused > 0 && html`<${Download} found=${loadedImport.import} run=${run} kind="failed">${t.downloadFailedCsv}<//>`}
            ${!run.dryRun && !several && html`<${Download} found=${loadedImport.import} run=${run} kind="results">${t.downloadResultsCsv}<//>`}
            ${!run.undoOf && !embed.value && html`<${Repeat} found=${loadedImport.import} />`}
          </div>
          ${!run.dryRun && several && html`<p class="hint">${t.thisRunHasSeveralFilesDownload}</p>`}
          <${Problem} error=${tally.error} again=${tally.again} />
          <${Reasons} tally=${tally} run=${run} linkTo=${linkTo} />
          ${unanswered > 0 && html`<${Notice} kind="warning" title=${t.someRowsHadNoAnswer}>${t.theCrmDidNotConfirmWhetherIt}<//>`}
        `
      }
    </section>
    <${Retry} importId=${id} run=${run} known=${loadedImport} onStarted=${onStarted} groups=${tally.groups} isMain=${main === 'retry'} />
    ${!embed.value && html`<${Undo} importId=${id} run=${run} runs=${loadedImport.runs} onStarted=${onStarted} />`}
    ${
      loadedImport.import.state !== 'expired' &&
      !run.undoOf &&
      !embed.value &&
      may('operator') &&
      html`<p class="begin-anew">${
        findRepeatingFlows(loadedImport.import).length === 0
          ? html`<a href=${to('imports', id, 'review')}>${t.startANewRunWithAllRows}</a>`
          : html`${t.aNewRunWouldCreateWrittenRecords} <a href=${to('imports', id, 'match')}>${t.matchExistingRecords}</a> ${t.first}`
      }</p>`
    }
  `
}

/** Returns the main action of a run's page. Null for an undo, because `UndoResult` shows its main action. */
const mainActionOf = (run: Run): 'answer' | 'rows' | 'retry' | null => {
  if (run.undoOf) return null
  if (needsAnswers(run)) return 'answer'
  const {failed, refused} = sumCounts(run.counts)
  const needsRetry = may('operator') && isRetriable(run) && failed + refused === 0 && (run.stop !== null || leftOf(run) > 0)
  return needsRetry ? 'retry' : 'rows'
}

const titleOf = (run: Run) => (run.stop ? t.resultsBeforeTheRunStopped : sayState(run).word)
