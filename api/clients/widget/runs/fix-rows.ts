import {useRef, useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {sendByXhr} from '../imports/xhr.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {percent} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {expectFocus} from './focus.ts'
import {needsAnswers} from './questions-link.ts'
import {Retry} from './retry.ts'
import {isOver, isRetriable, type Run} from './run.ts'
import {leftOf, sumCounts} from './tally.ts'
import type {Source} from './use-tally.ts'

/**
 * `source`: undefined if the run read one file.
 * `isReady`: whether `source` is known. Corrections without a source would apply to the first file.
 */
type FixProps = {importId: string; run: Run; source: Source | undefined; isReady: boolean; known: LoadedImport}
type Corrected = {rows: number; cells: number; kept: number; matchedBy: 'row' | 'order' | 'key'}

/** Offers to upload corrections of failed and refused rows, and to retry the run. A retry does not write a written row again. */
export const FixRows = ({importId, run, source, isReady, known}: FixProps) => {
  const {failed, refused} = sumCounts(run.counts)
  const goOn = goIfHere()
  const started = async (next: string) => {
    expectFocus()
    goOn(to('imports', importId, 'run', {run: next}))
    await known.again()
  }
  if (!isOver(run) || !isRetriable(run) || known.import.state === 'expired' || leftOf(run) === 0) return null
  return html`
    ${failed + refused > 0 && !run.retriedBy && may('operator') && html`<${Upload} importId=${importId} run=${run} source=${source} isReady=${isReady} rows=${failed + refused} />`}
    <${Retry} importId=${importId} run=${run} known=${known} onStarted=${started} isMain=${!needsAnswers(run)} />
  `
}

const Upload = ({importId, run, source, isReady, rows}: Omit<FixProps, 'known'> & {rows: number}) => {
  const input = useRef<HTMLInputElement>(null)
  const [sent, setSent] = useState<number | null>(null)
  const [corrected, setCorrected] = useState<Corrected | null>(null)
  const upload = useDoing(async (file: File) => {
    setCorrected(null)
    const query = new URLSearchParams({name: file.name, ...(source && {source: source.id})})
    const path = `${inOrg(`/imports/${importId}/runs/${run.id}/corrections`)}?${query}`
    const onSent = (bytes: number) => setSent(bytes / Math.max(1, file.size))
    try {
      setCorrected((await sendByXhr('POST', path, file, {signal: new AbortController().signal, onSent})) as Corrected)
    } finally {
      setSent(null)
    }
  })
  const choose = () => {
    const [file] = input.current?.files ?? []
    if (file) void upload.run(file)
    if (input.current) input.current.value = ''
  }
  return html`
    <section class="sheet" aria-labelledby="fix">
      <h2 id="fix">${t.fixRows(rows)}</h2>
      <p>${t.openARowBelowToCorrectIts}</p>
      <input ref=${input} type="file" class="unseen" tabindex="-1" aria-label=${t.correctedFile} accept=".csv,.tsv,.txt,.xlsx,.ods" onChange=${choose} />
      <div class="actions">
        <${Button} isBusy=${upload.isBusy} disabled=${!isReady} onClick=${() => input.current?.click()}>${t.uploadCorrectedRows}${sent !== null && ` · ${percent(sent)}`}<//>
      </div>
      ${corrected && html`<${CorrectedNotice} corrected=${corrected} />`}
      <${UploadProblem} error=${upload.error} />
    </section>
  `
}

const matchedWords = {row: t.rowNumber, order: t.theirOrderInTheFile, key: t.theColumnsThatMatchRecords}

const CorrectedNotice = ({corrected: {rows, cells, kept, matchedBy}}: {corrected: Corrected}) => {
  const keeps = kept > 0 && html` ${t.cellsKeptALaterCorrection(kept)}`
  return cells === 0
    ? html`<${Notice} title=${t.theFileHasNoChanges}>${t.correctItsCellsSaveItAndUpload}${keeps}<//>`
    : html`<${Notice} kind="good" title=${t.rowsCorrected(rows)}>${t.cellsChangedTheRowsWereFoundBy(cells, matchedWords[matchedBy])}${keeps}<//>`
}

const UploadProblem = ({error}: {error: unknown}) =>
  error instanceof ApiError && error.code === 'SNAPSHOT_CHANGED'
    ? html`<${Problem} error=${error} title=${t.theFileOrItsOptionsChangedSince} />`
    : html`<${Problem} error=${error} />`
