import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import type {Group} from '../../run-reasons.ts'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {plural} from '../ui/format.ts'
import {runsOf} from './choose.ts'
import {type OpenParts, openOf, sayRetry} from './retry-words.ts'
import {laterOf, type Run} from './run.ts'
import {StartProblem} from './start-problem.ts'
import {sumCounts} from './tally.ts'

/** `groups`: the counted rows of the run, which show missing tags. */
type RetryProps = {importId: string; run: Run; known: LoadedImport; onStarted: (run: string) => void; groups?: readonly Group[]}

/** Offers to retry an ended run, and explains what the retry will do. */
export const Retry = ({importId, run, known, onStarted, groups = []}: RetryProps) => {
  const [isAsking, setAsking] = useState(false)
  const open = openOf(run, groups)
  const {left, links, tags} = open
  const isDone = left + links + tags === 0 && !run.stop
  const later = laterOf(runsOf(known)).get(run.id)
  if (run.dryRun || run.engine === 'outside' || run.expiredAt || known.import.state === 'expired' || isDone) return null
  if (later)
    return html`<p class="carried-on">This run was retried. <a href=${to('imports', importId, 'run', {run: later.id})}>View the retry</a></p>`
  return html`
    <section class="sheet" aria-labelledby="retry">
      <h2 id="retry">Retry</h2>
      ${left > 0 && html`<p>${plural(left, 'row')} of this run ${left === 1 ? 'has' : 'have'} no record yet. A retry writes ${left === 1 ? 'it' : 'them'}:</p>`}
      <${WhatRetryDoes} run=${run} open=${open} />
      ${may('operator') && html`<${Button} kind="main" onClick=${() => setAsking(true)}>${sayRetry(open).button}<//>`}
      ${isAsking && html`<${AskRetry} importId=${importId} run=${run} open=${open} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
    </section>
  `
}

const WhatRetryDoes = ({run, open: {links, tags}}: {run: Run; open: OpenParts}) => {
  const {created, updated, inherited, unanswered} = sumCounts(run.counts)
  const written = created + updated + inherited
  return html`
    <ul>
      ${written > 0 && html`<li>The ${plural(written, 'row')} with a record ${written === 1 ? 'is' : 'are'} not written again${links > 0 && ', except for empty links,'} and ${written === 1 ? 'is' : 'are'} listed as “Already written”.</li>`}
      ${unanswered > 0 && html`<li>${plural(unanswered, 'row')} without an answer ${unanswered === 1 ? 'is' : 'are'} searched in the CRM first, so that no record is created twice.</li>`}
      ${links > 0 && html`<li>${plural(links, 'empty link')} ${links === 1 ? 'is' : 'are'} filled if the linked record exists by then.</li>`}
      ${tags > 0 && html`<li>${plural(tags, 'record')} without ${tags === 1 ? 'its' : 'their'} tags ${tags === 1 ? 'gets' : 'get'} them.</li>`}
      ${run.questions > 0 && html`<li>Your answers to questions are applied.</li>`}
      <li>Corrected cells and changes of the mapping since then are used. The file itself and its options must be the same.</li>
    </ul>
  `
}

type AskProps = Pick<RetryProps, 'importId' | 'run' | 'onStarted'> & {open: OpenParts; onClose: () => void}

const AskRetry = ({importId, run, open, onStarted, onClose}: AskProps) => {
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
  const {title, action, effect} = sayRetry(open)
  const said = refused === null ? null : html`<${StartProblem} error=${refused} importId=${importId} />`
  return html`
    <${Confirm} title=${title} action=${action} work=${work} onClose=${onClose} problem=${said}>
      <p>${effect}</p>
    <//>
  `
}
