import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import {ReviewProblems} from '../imports/review-problems.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {count, plural} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {readByFlows, runsOf} from './choose.ts'
import {type ExpectedRows, expectRows} from './expected-rows.ts'
import {expectFocus} from './focus.ts'
import {ActiveDryRun} from './review-dry-run.ts'
import {ReviewPlan} from './review-plan.ts'
import {ReviewStart} from './review-start.ts'
import {RunForecast} from './run-forecast.ts'
import {type Preview, usePreview} from './use-preview.ts'

/** The review step: what a run would do with every row, the cells to fix, and the button that starts it. */
export const Review = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="review" lead="See what the import will do with every row, and fix cells in place. Nothing is written to the CRM yet.">
    ${(loadedImport: LoadedImport) => html`<${ReviewOf} key=${id} id=${id} known=${loadedImport} />`}
  <//>
`

const ReviewOf = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const {state, flows, sources} = loadedImport.import
  if (state === 'expired') return null
  if (state === 'draft' || flows.length === 0) {
    const label = sources.length === 0 ? 'Add a file' : 'Match the columns'
    return html`<${Notice} title="Not ready to review" actions=${html`<a class="button" href=${to('imports', id, 'match')}>${label}</a>`}>Add a file and match its columns first.<//>`
  }
  return html`<${ReviewReady} id=${id} known=${loadedImport} />`
}

const ReviewReady = ({id, known: loadedImport}: {id: string; known: LoadedImport}) => {
  const preview = usePreview(loadedImport)
  const rows = readByFlows(loadedImport).reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const expected = expectRows(loadedImport, rows)
  const named = place.value.query.get('run')
  const shown = runsOf(loadedImport).find(({id: one, dryRun, endedAt}) => one === named && dryRun && endedAt !== null) ?? preview.ended
  const goOn = goIfHere()
  const started = async (run: string) => {
    expectFocus()
    goOn(to('imports', id, 'run', {run}))
    await loadedImport.again()
  }
  return html`
    <section class="sheet review-head" aria-labelledby="review-sum">
      <${Sum} rows=${rows} expected=${expected} isBusy=${preview.isBusy} />
      <${ReviewStart} id=${id} known=${loadedImport} isWaiting=${preview.isBusy && !expected} onStarted=${started} />
    </section>
    <${RunForecast} id=${id} version=${loadedImport.import.version} preview=${preview.ended?.id ?? null} isBusy=${preview.isBusy} />
    <${PreviewState} id=${id} known=${loadedImport} preview=${preview} />
    <${ReviewProblems} known=${loadedImport} />
    ${shown && html`<${ReviewPlan} key=${shown.id} known=${loadedImport} run=${shown} />`}
  `
}

/** The result in one line: "129 ready · 121 need attention". */
const Sum = ({rows, expected, isBusy}: {rows: number; expected: ExpectedRows | null; isBusy: boolean}) => {
  if (!expected)
    return html`<div role="status"><h2 id="review-sum">${isBusy ? `Checking ${plural(rows, 'row')} …` : `${plural(rows, 'row')}, not checked`}</h2></div>`
  const {ready, attention, skipped, isExact} = expected
  return html`
    <div role="status"><h2 id="review-sum">
      ${isExact ? '' : 'Up to '}${count(ready)} ready
      ${attention > 0 && html` · <span class="attention">${isExact ? '' : 'at least '}${count(attention)} ${attention === 1 ? 'needs' : 'need'} attention</span>`}
      ${skipped > 0 && html` · <span class="quiet">${count(skipped)} skipped</span>`}
    </h2></div>
  `
}

type PartProps = {id: string; known: LoadedImport; preview: Preview}

/** The checks and the dry run: their progress, errors, and buttons to repeat them. */
const PreviewState = ({id, known: loadedImport, preview}: PartProps) => {
  const {check, dryRun, active, isLarge, isStale} = preview
  const {progress} = check
  return html`
    ${check.isBusy && html`<${Progress} label="Checking rows" done=${progress?.done ?? 0} total=${progress?.total ?? null} text=${progress ? `${count(progress.done)} of ${progress.total === null ? 'all' : count(progress.total)} rows checked` : 'Checking …'} />`}
    ${active && html`<${ActiveDryRun} key=${active.id} id=${id} runId=${active.id} again=${loadedImport.again} />`}
    <${Problem} error=${check.failed ?? check.start.error} title="Could not check the rows" again=${() => check.start.run()} />
    <${Problem} error=${dryRun.error} title="Could not preview the rows" again=${() => dryRun.run()} />
    ${
      may('operator') &&
      !preview.isBusy &&
      (isStale || isLarge) &&
      html`
      <${Notice} title=${preview.ended ? 'The preview is out of date' : 'No preview yet'} actions=${html`<${Button} onClick=${() => dryRun.run()}>Preview all rows<//>`}>
        ${isLarge ? 'The preview of a large file uses CRM quota, so it starts only on request.' : 'Files, mapping or settings have changed.'}
      <//>
    `
    }
    ${may('operator') && !preview.isBusy && check.isStale && html`<p><${Button} onClick=${() => check.start.run()}>Check again<//></p>`}
  `
}
