import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {plural} from '../ui/format.ts'
import {runsOf} from './choose.ts'
import {laterOf, type Run} from './run.ts'
import {StartProblem} from './start-problem.ts'
import {emptyLinksOf, leftOf, sumCounts} from './tally.ts'

type RetryProps = {importId: string; run: Run; known: LoadedImport; onStarted: (run: string) => void}

/** Offers to retry an ended run, and explains what the retry will do. */
export const Retry = ({importId, run, known, onStarted}: RetryProps) => {
  const [isAsking, setAsking] = useState(false)
  const [left, links] = [leftOf(run), emptyLinksOf(run)]
  const later = laterOf(runsOf(known)).get(run.id)
  if (run.dryRun || run.engine === 'outside' || run.expiredAt || known.import.state === 'expired' || left + links === 0) return null
  if (later)
    return html`<p class="carried-on">This run was retried. <a href=${to('imports', importId, 'run', {run: later.id})}>View the retry</a></p>`
  return html`
    <section class="sheet" aria-labelledby="retry">
      <h2 id="retry">Retry</h2>
      ${left > 0 && html`<p>${plural(left, 'row')} of this run ${left === 1 ? 'has' : 'have'} no record yet. A retry writes only ${left === 1 ? 'this row' : 'these rows'}:</p>`}
      <${WhatRetryDoes} run=${run} />
      ${may('operator') && html`<${Button} kind="main" onClick=${() => setAsking(true)}>${left > 0 ? `Retry ${plural(left, 'row')}` : `Fill ${plural(links, 'link')}`}<//>`}
      ${isAsking && html`<${AskRetry} importId=${importId} run=${run} left=${left + links} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
    </section>
  `
}

const WhatRetryDoes = ({run}: {run: Run}) => {
  const {created, updated, inherited, unanswered} = sumCounts(run.counts)
  const written = created + updated + inherited
  return html`
    <ul>
      ${written > 0 && html`<li>The ${plural(written, 'row')} with a record ${written === 1 ? 'is' : 'are'} not written again and ${written === 1 ? 'is' : 'are'} listed as “Already written”.</li>`}
      ${unanswered > 0 && html`<li>${plural(unanswered, 'row')} without an answer ${unanswered === 1 ? 'is' : 'are'} searched in the CRM first, so that no record is created twice.</li>`}
      ${emptyLinksOf(run) > 0 && html`<li>${plural(emptyLinksOf(run), 'empty link')} ${emptyLinksOf(run) === 1 ? 'is' : 'are'} filled if the linked record exists by then.</li>`}
      ${run.questions > 0 && html`<li>Your answers to questions are applied.</li>`}
      <li>Corrected cells and changes of the mapping since then are used. The file itself and its options must be the same.</li>
    </ul>
  `
}

type AskProps = Pick<RetryProps, 'importId' | 'run' | 'onStarted'> & {left: number; onClose: () => void}

const AskRetry = ({importId, run, left, onStarted, onClose}: AskProps) => {
  const [refused, setRefused] = useState<unknown>(null)
  const work = async () => {
    setRefused(null)
    try {
      const {run: next} = await client.post<{run: Json}>(inOrg(`/imports/${importId}/runs`), {retryOf: run.id})
      onStarted(next.id)
    } catch (error) {
      setRefused(error)
      throw error
    }
  }
  const said = refused === null ? null : html`<${StartProblem} error=${refused} importId=${importId} />`
  return html`
    <${Confirm} title="Retry the remaining rows?" action=${`Write up to ${plural(left, 'row')}`} work=${work} onClose=${onClose} problem=${said}>
      <p>This creates and updates records in the CRM for up to ${plural(left, 'row')}. Rows already written do not change.</p>
    <//>
  `
}
