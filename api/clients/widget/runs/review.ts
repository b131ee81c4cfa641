import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import {ReviewProblems} from '../imports/review-problems.ts'
import type {PageProps} from '../pages.ts'
import {embed} from '../state/embed.ts'
import {useLoad} from '../state/load.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {count} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Progress} from '../ui/progress.ts'
import {isCurrentPreview, readByFlows, runsOf} from './choose.ts'
import {expectRows, rowsOfPreview} from './expected-rows.ts'
import {expectFocus} from './focus.ts'
import {WhyNotice} from './live-sheet.ts'
import {ActiveDryRun} from './review-dry-run.ts'
import {ReviewPlan} from './review-plan.ts'
import {ReviewStart} from './review-start.ts'
import {ReviewSum} from './review-sum.ts'
import {countTab} from './review-tabs.ts'
import {kindOf, type Run} from './run.ts'
import {RunForecast} from './run-forecast.ts'
import {SealedPlan} from './sealed-plan.ts'
import {type Preview, usePreview} from './use-preview.ts'
import {type Tally, useTally} from './use-tally.ts'

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

type ReadyProps = {id: string; known: LoadedImport}

/** Shows the dry run that the URL names if that dry run is out of date. Otherwise, shows the current review. */
const ReviewReady = (props: ReadyProps) => {
  const named = place.value.query.get('run')
  const run = runsOf(props.known).find(({id}) => id === named)
  if (named !== null && !run) return html`<${OlderPreview} ...${props} runId=${named} />`
  return run && isEndedPreview(run) && !isCurrentPreview(props.known, run)
    ? html`<${EarlierPreview} ...${props} run=${run} />`
    : html`<${CurrentReview} ...${props} />`
}

const isEndedPreview = ({dryRun, endedAt}: Run) => dryRun && endedAt !== null

/** Loads a dry run that is not among the newest runs of the import, and shows it. */
const OlderPreview = ({runId, ...props}: ReadyProps & {runId: string}) => {
  const path = inOrg(`/imports/${props.id}/runs/${runId}`)
  const loaded = useLoad<{run: Run}>(signal => client.get(path, {}, signal), [path])
  return html`<${Shown} of=${loaded}>${({run}: {run: Run}) => (isEndedPreview(run) ? html`<${EarlierPreview} ...${props} run=${run} />` : html`<${CurrentReview} ...${props} />`)}<//>`
}

const CurrentReview = ({id, known: loadedImport}: ReadyProps) => {
  const preview = usePreview(loadedImport)
  const rows = readByFlows(loadedImport).reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const expected = expectRows(loadedImport, rows)
  const shown = preview.ended
  const tally = useTally(id, shown && !shown.expiredAt ? shown.id : null)
  const asks = expected ? Math.min(expected.skipped, countTab('questions', tally.groups)) : 0
  const started = useStarted(id, loadedImport)
  return html`
    <section class="sheet review-head" aria-labelledby="review-sum">
      <${ReviewSum} rows=${rows} expected=${expected} asks=${asks} isBusy=${preview.isBusy} />
      <${ReviewStart} id=${id} known=${loadedImport} isWaiting=${preview.isBusy && !expected} onStarted=${started} />
      ${!embed.value && html`<${RunForecast} id=${id} version=${loadedImport.import.version} preview=${shown?.id ?? null} isBusy=${preview.isBusy} />`}
    </section>
    <${PreviewState} id=${id} known=${loadedImport} preview=${preview} />
    <${ReviewProblems} known=${loadedImport} />
    ${shown && html`<${PlanOf} id=${id} known=${loadedImport} run=${shown} tally=${tally} onStarted=${started} />`}
  `
}

/** Shows an ended dry run that is out of date or belongs to an undo. This view starts neither a check nor another dry run. */
const EarlierPreview = ({id, known: loadedImport, run}: ReadyProps & {run: Run}) => {
  const tally = useTally(id, run.expiredAt ? null : run.id)
  const expected = rowsOfPreview(run)
  const asks = Math.min(expected.skipped, countTab('questions', tally.groups))
  return html`
    ${
      run.undoOf
        ? html`<${Notice} title=${kindOf(run)} actions=${html`<a class="button" href=${to('imports', id, 'run', {run: run.id})}>${t.viewRun}</a>`} />`
        : html`<${Notice} title=${t.anEarlierPreview} actions=${html`<a class="button" href=${to('imports', id, 'review')}>${t.viewTheCurrentPreview}</a>`}>${t.itsRowsMayDifferFromWhatThe}<//>`
    }
    <section class="sheet review-head" aria-labelledby="review-sum"><${ReviewSum} rows=${0} expected=${expected} asks=${asks} isBusy=${false} /></section>
    <${PlanOf} id=${id} known=${loadedImport} run=${run} tally=${tally} onStarted=${useStarted(id, loadedImport)} />
  `
}

type PlanProps = {id: string; known: LoadedImport; run: Run; tally: Tally; onStarted: (run: string) => void}

const PlanOf = ({id, known: loadedImport, run, tally, onStarted}: PlanProps) => html`
  <${ReviewPlan} key=${run.id} known=${loadedImport} run=${run} tally=${tally} />
  ${!run.expiredAt && !embed.value && html`<${SealedPlan} key=${`plan ${run.id}`} importId=${id} run=${run} onStarted=${onStarted} />`}
`

/** Returns a function that opens the page of a started run, if the person is still on this page, and reloads the import. */
const useStarted = (id: string, loadedImport: LoadedImport) => {
  const goOn = goIfHere()
  return async (run: string) => {
    expectFocus()
    goOn(to('imports', id, 'run', {run}))
    await loadedImport.again()
  }
}

type PartProps = {id: string; known: LoadedImport; preview: Preview}

const PreviewState = ({id, known: loadedImport, preview}: PartProps) => {
  const {check, dryRun, active, isStale} = preview
  const {progress} = check
  return html`
    ${check.isBusy && html`<${Progress} label=${t.checkingRowsLabel} done=${progress?.done ?? 0} total=${progress?.total ?? null} text=${progress ? t.ofRowsChecked(count(progress.done), progress.total) : t.checking} />`}
    ${active && html`<${ActiveDryRun} key=${active.id} id=${id} runId=${active.id} again=${loadedImport.again} />`}
    <${Problem} error=${check.failed ?? check.start.error} title=${t.couldNotCheckTheRows} again=${() => check.start.run()} />
    <${Problem} error=${dryRun.error} title=${t.couldNotPreviewTheRows} again=${() => dryRun.run()} />
    ${may('operator') && !preview.isBusy && isStale && html`<${PreviewOffer} known=${loadedImport} preview=${preview} />`}
    ${may('operator') && !preview.isBusy && check.isStale && html`<p><${Button} onClick=${() => check.start.run()}>${t.checkAgain}<//></p>`}
  `
}

/** Offers a dry run over all rows. Says whether the last one is missing, out of date or incomplete. */
const PreviewOffer = ({known: loadedImport, preview: {ended, dryRun, isLarge}}: Omit<PartProps, 'id'>) => {
  const start = html`<${Button} onClick=${() => dryRun.run()}>${t.previewAllRows}<//>`
  if (ended && isCurrentPreview(loadedImport, ended)) return html`<${WhyNotice} run=${ended} actions=${start} />`
  return html`
    <${Notice} title=${ended ? t.thePreviewIsOutOfDate : t.noPreviewYet} actions=${start}>
      ${isLarge ? t.thePreviewOfALargeFileUses : t.filesMappingOrSettingsHaveChanged}
    <//>
  `
}
