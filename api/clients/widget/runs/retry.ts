import {useState} from 'preact/hooks'
import type {Group} from '../../run-reasons.ts'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {countKept} from '../state/kept.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {Notice} from '../ui/notice.ts'
import {typedCellsOf} from './edit-row.ts'
import {type OpenParts, openOf, sayRetry} from './retry-words.ts'
import {isRetriable, type Run} from './run.ts'
import {StartProblem} from './start-problem.ts'
import {startRun} from './start-run.ts'
import {sumCounts} from './tally.ts'

/** `groups`: the counts of the run's rows, which show missing tags. `isMain`: whether the retry is the main action of the page. */
type RetryProps = {
  importId: string
  run: Run
  known: LoadedImport
  onStarted: (run: string) => void
  groups?: readonly Group[]
  isMain?: boolean
}

export const Retry = ({importId, run, known, onStarted, groups = [], isMain = true}: RetryProps) => {
  const [isAsking, setAsking] = useState(false)
  const open = openOf(run, groups)
  const {left, links, tags} = open
  const isDone = left + links + tags === 0 && !run.stop
  if (!isRetriable(run) || run.expiredAt || known.import.state === 'expired' || isDone) return null
  if (run.retriedBy)
    return html`<p class="carried-on">${t.thisRunWasRetried} <a href=${to('imports', importId, 'run', {run: run.retriedBy})}>${t.viewTheRetry}</a></p>`
  // A run that deletes needs the number of a current preview, so a new run deletes what is left.
  if (known.import.flows.some(({action}) => action === 'delete'))
    return html`<${Notice} title=${t.aRunThatDeletesIsNotRetried} actions=${html`<a class=${isMain ? 'button main' : 'button'} href=${to('imports', importId, 'review')}>${t.reviewTheRows}</a>`}>${t.theReviewCountsWhatIsLeft}<//>`
  return html`
    <section class="sheet" aria-labelledby="retry">
      <h2 id="retry">${t.retry}</h2>
      ${left > 0 && html`<p>${t.rowsWithoutRecord(left)}</p>`}
      <${WhatRetryDoes} run=${run} open=${open} />
      ${may('operator') && html`<${Button} kind=${isMain ? 'main' : 'plain'} onClick=${() => setAsking(true)}>${sayRetry(open).button}<//>`}
      ${isAsking && html`<${AskRetry} importId=${importId} run=${run} open=${open} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
    </section>
  `
}

const WhatRetryDoes = ({run, open: {links, tags}}: {run: Run; open: OpenParts}) => {
  const {created, updated, inherited, unanswered} = sumCounts(run.counts)
  const written = created + updated + inherited
  return html`
    <ul>
      ${written > 0 && html`<li>${(links > 0 ? t.writtenRowsExceptLinks : t.writtenRows)(written)}</li>`}
      ${unanswered > 0 && html`<li>${t.rowsWithoutAnAnswer(unanswered)}</li>`}
      ${links > 0 && html`<li>${t.emptyLinksAreFilled(links)}</li>`}
      ${tags > 0 && html`<li>${t.recordsGetTags(tags)}</li>`}
      ${run.questions > 0 && html`<li>${t.yourAnswersToQuestionsAreApplied}</li>`}
      <li>${t.correctedCellsAndChangesOfThe}</li>
    </ul>
  `
}

type AskProps = Pick<RetryProps, 'importId' | 'run' | 'onStarted'> & {open: OpenParts; onClose: () => void}

const AskRetry = ({importId, run, open, onStarted, onClose}: AskProps) => {
  const {mode = 'off'} = run.verify ?? {}
  // If verification was off, the setting of the template applies to the retry.
  const work = async () => onStarted(await startRun(importId, {retryOf: run.id, ...(mode !== 'off' && {verify: mode})}))
  const {title, action, effect} = sayRetry(open)
  const unsaved = countKept(typedCellsOf(importId))
  const problem = (error: unknown) => html`<${StartProblem} error=${error} importId=${importId} />`
  return html`
    <${Confirm} title=${title} action=${action} work=${work} onClose=${onClose} problem=${problem}>
      <p>${effect}</p>
      ${unsaved > 0 && html`<${Notice} kind="warning" title=${t.rowsHaveUnsavedCells(unsaved)}>${t.theRetryDoesNotUseThem}<//>`}
    <//>
  `
}
