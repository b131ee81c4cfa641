import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import {WhyNotice} from './live-sheet.ts'
import {ActiveDryRun} from './review-dry-run.ts'
import {isUnderWay, type Run, sayRange} from './run.ts'
import {draftOf, noDraft} from './start.ts'
import {StartProblem} from './start-problem.ts'
import {startRun} from './start-run.ts'
import {binDays} from './undo.ts'

type Props = {importId: string; runs: readonly Run[]; isHindered: boolean; again: () => Promise<void>; onStarted: (run: string) => void}

/**
 * Starts a run that deletes records. A builder must type the number of records that the dry run found. If a run may not read all rows, the form offers
 * a dry run of some rows, and then deletes their records.
 */
export const DeleteForm = ({importId, runs, isHindered, again, onStarted}: Props) => {
  const [isAsking, setAsking] = useState(false)
  const newest = runs.find(({endedAt}) => endedAt !== null)
  const deletes = countDeletes(newest)
  if (!may('operator')) return null
  if (!may('builder')) return html`<p class="quiet">${t.thisImportDeletesRecordsAskA}</p>`
  const active = runs.find(run => run.dryRun && run.rows && isUnderWay(run))
  if (active) return html`<${ActiveDryRun} key=${active.id} id=${importId} runId=${active.id} again=${again} />`
  const isPart = newest?.dryRun && newest.stale === false && (newest.rows !== null || newest.stop?.stopped === 'LIMIT_ROWS_PER_RUN')
  return html`
    ${deletes === null && (isPart ? html`<${WhyNotice} run=${newest} />` : html`<p class="quiet">${t.thisImportDeletesRecordsThePreview}</p>`)}
    ${deletes === 0 && html`<p class="quiet">${t.noRowMatchesExactlyOneRecordSo}</p>`}
    ${deletes !== null && newest?.rows && html`<p class="quiet">${t.ofTheseRowsOnly(sayRange(newest.rows))}</p>`}
    ${deletes !== null && deletes > 0 && html`<div class="actions"><${Button} kind="danger" disabled=${isHindered} onClick=${() => setAsking(true)}>${t.deleteRecords(deletes)}<//></div>`}
    ${isPart && html`<${PartPreview} importId=${importId} again=${again} />`}
    ${isAsking && html`<${ConfirmDeletes} importId=${importId} deletes=${deletes} body=${newest?.rows ? {rows: newest.rows} : {}} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
  `
}

/** Starts a dry run of some rows. */
const PartPreview = ({importId, again}: Pick<Props, 'importId' | 'again'>) => {
  const [draft, setDraft] = useState(noDraft)
  const {body, problems} = draftOf(draft)
  const preview = useDoing(async () => {
    await client.post(inOrg(`/imports/${importId}/runs`), {dryRun: true, ...body})
    await again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (Object.keys(problems).length === 0) void preview.run()
  }
  return html`
    <form class="start-form" onSubmit=${submit} novalidate>
      <div class="start-fields">
        <${TextField} label=${t.fromRow} value=${draft.from} onInput=${(from: string) => setDraft({...draft, from})} error=${problems.from} inputmode="numeric" placeholder="1" />
        <${TextField} label=${t.toRow} value=${draft.to} onInput=${(to: string) => setDraft({...draft, to})} error=${problems.to} inputmode="numeric" placeholder=${t.last} />
      </div>
      <${StartProblem} error=${preview.error} importId=${importId} />
      <div class="actions"><${Button} type="submit" isBusy=${preview.isBusy}>${t.previewTheseRows}<//></div>
    </form>
  `
}

type ConfirmProps = Pick<Props, 'importId' | 'onStarted'> & {deletes: number; body: object; onClose: () => void}

/** Asks for the number of records that a run would delete, and starts the run. `body`: the sealed plan or the rows of the run. */
export const ConfirmDeletes = ({importId, deletes, body, onStarted, onClose}: ConfirmProps) => {
  const [typed, setTyped] = useState('')
  const start = async () => {
    if (typed.trim() !== String(deletes)) throw new Error(t.typeToDeleteTheseRecords(deletes))
    onStarted(await startRun(importId, {...body, confirmDeletes: deletes}))
  }
  const problem = (error: unknown) => html`<${StartProblem} error=${error} importId=${importId} />`
  return html`
    <${Confirm} title=${t.deleteRecordsInTheCrm(deletes)} action=${t.deleteWord} isDangerous work=${start} problem=${problem} onClose=${onClose}>
      <p>${t.rowsThatMatchNoRecordOrSeveral(binDays)}</p>
      <${TextField} label=${t.typeToConfirm(deletes)} value=${typed} onInput=${setTyped} inputmode="numeric" autocomplete="off" />
    <//>
  `
}

/** Returns how many records the newest ended run would delete. Null unless that run is an up-to-date, complete dry run. */
const countDeletes = (newest: Run | undefined): number | null =>
  newest?.dryRun && newest.stale === false && !newest.stop && !newest.retryOf && !newest.undoOf ? (newest.deleted ?? 0) : null

/** Says how many records a run deleted. Null if it deleted none, and for dry runs and undos. */
export const sayDeleted = ({deleted = 0, dryRun, undoOf}: Run): string | null =>
  deleted === 0 || dryRun || undoOf ? null : t.recordsWereDeleted(deleted)
