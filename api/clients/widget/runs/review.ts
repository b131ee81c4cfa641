import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import {ReviewProblems} from '../imports/review-problems.ts'
import type {PageProps} from '../pages.ts'
import {embed} from '../state/embed.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {count} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {readByFlows, runsOf} from './choose.ts'
import {type ExpectedRows, expectRows} from './expected-rows.ts'
import {expectFocus} from './focus.ts'
import {ActiveDryRun} from './review-dry-run.ts'
import {ReviewPlan} from './review-plan.ts'
import {ReviewStart} from './review-start.ts'
import {countTab} from './review-tabs.ts'
import {RunForecast} from './run-forecast.ts'
import {SealedPlan} from './sealed-plan.ts'
import {type Preview, usePreview} from './use-preview.ts'
import {useTally} from './use-tally.ts'

/** The review step: what a run would do with every row, the cells to fix, and the button that starts it. */
export const Review = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="review" lead=${t.seeWhatTheImportWillDoWith}>
    ${(loadedImport: LoadedImport) => html`<${ReviewOf} key=${id} id=${id} known=${loadedImport} />`}
  <//>
`

const ReviewOf = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const {state, flows, sources} = loadedImport.import
  if (state === 'expired') return null
  if (state === 'draft' || flows.length === 0) {
    const label = sources.length === 0 ? t.addAFile : t.matchTheColumns
    return html`<${Notice} title=${t.notReadyToReview} actions=${html`<a class="button" href=${to('imports', id, 'match')}>${label}</a>`}>${t.addAFileAndMatchItsColumns}<//>`
  }
  return html`<${ReviewReady} id=${id} known=${loadedImport} />`
}

const ReviewReady = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const preview = usePreview(loadedImport)
  const rows = readByFlows(loadedImport).reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const expected = expectRows(loadedImport, rows)
  const named = place.value.query.get('run')
  const shown = runsOf(loadedImport).find(({id: one, dryRun, endedAt}) => one === named && dryRun && endedAt !== null) ?? preview.ended
  const isCurrent = shown?.id === preview.ended?.id
  const tally = useTally(id, shown && !shown.expiredAt ? shown.id : null)
  const asks = isCurrent && expected ? Math.min(expected.skipped, countTab('questions', tally.groups)) : 0
  const goOn = goIfHere()
  const started = async (run: string) => {
    expectFocus()
    goOn(to('imports', id, 'run', {run}))
    await loadedImport.again()
  }
  return html`
    <section class="sheet review-head" aria-labelledby="review-sum">
      <${Sum} rows=${rows} expected=${expected} asks=${asks} isBusy=${preview.isBusy} />
      <${ReviewStart} id=${id} known=${loadedImport} isWaiting=${preview.isBusy && !expected} onStarted=${started} />
      ${!embed.value && html`<${RunForecast} id=${id} version=${loadedImport.import.version} preview=${preview.ended?.id ?? null} isBusy=${preview.isBusy} />`}
    </section>
    <${PreviewState} id=${id} known=${loadedImport} preview=${preview} />
    <${ReviewProblems} known=${loadedImport} />
    ${!isCurrent && html`<${Notice} title=${t.anEarlierPreview} actions=${html`<a class="button" href=${to('imports', id, 'review')}>${t.viewTheCurrentPreview}</a>`}>${t.itsRowsMayDifferFromWhatThe}<//>`}
    ${shown && html`<${ReviewPlan} key=${shown.id} known=${loadedImport} run=${shown} tally=${tally} />`}
    ${shown && !shown.expiredAt && !embed.value && html`<${SealedPlan} key=${`plan ${shown.id}`} importId=${id} run=${shown.id} onStarted=${started} />`}
  `
}

/** `asks`: how many of the rows that a run would skip wait for an answer. */
type SumProps = {rows: number; expected: ExpectedRows | null; asks: number; isBusy: boolean}

/** The result in one line: "129 ready · 121 need attention". */
const Sum = ({rows, expected, asks, isBusy}: SumProps) => {
  if (!expected) return html`<div role="status"><h2 id="review-sum">${isBusy ? t.checkingRows(rows) : t.rowsNotChecked(rows)}</h2></div>`
  const {ready, attention, skipped, isExact} = expected
  return html`
    <div role="status"><h2 id="review-sum">
      ${(isExact ? t.readyCount : t.readyAtMost)(count(ready))}
      ${attention > 0 && html` · <span class="attention">${(isExact ? t.attentionCount : t.attentionAtLeast)(attention)}</span>`}
      ${asks > 0 && html` · <span class="attention">${t.asksCount(asks)}</span>`}
      ${skipped > asks && html` · <span class="quiet">${t.skippedCount(count(skipped - asks))}</span>`}
    </h2></div>
  `
}

type PartProps = {id: string; known: LoadedImport; preview: Preview}

/** The checks and the dry run: their progress, errors, and buttons to repeat them. */
const PreviewState = ({id, known: loadedImport, preview}: PartProps) => {
  const {check, dryRun, active, isLarge, isStale} = preview
  const {progress} = check
  return html`
    ${check.isBusy && html`<${Progress} label=${t.checkingRowsLabel} done=${progress?.done ?? 0} total=${progress?.total ?? null} text=${progress ? t.ofRowsChecked(count(progress.done), progress.total === null ? t.allRows : count(progress.total)) : t.checking} />`}
    ${active && html`<${ActiveDryRun} key=${active.id} id=${id} runId=${active.id} again=${loadedImport.again} />`}
    <${Problem} error=${check.failed ?? check.start.error} title=${t.couldNotCheckTheRows} again=${() => check.start.run()} />
    <${Problem} error=${dryRun.error} title=${t.couldNotPreviewTheRows} again=${() => dryRun.run()} />
    ${
      may('operator') &&
      !preview.isBusy &&
      (isStale || isLarge) &&
      html`
      <${Notice} title=${preview.ended ? t.thePreviewIsOutOfDate : t.noPreviewYet} actions=${html`<${Button} onClick=${() => dryRun.run()}>${t.previewAllRows}<//>`}>
        ${isLarge ? t.thePreviewOfALargeFileUses : t.filesMappingOrSettingsHaveChanged}
      <//>
    `
    }
    ${may('operator') && !preview.isBusy && check.isStale && html`<p><${Button} onClick=${() => check.start.run()}>${t.checkAgain}<//></p>`}
  `
}
