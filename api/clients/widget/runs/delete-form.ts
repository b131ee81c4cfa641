import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import type {Run} from './run.ts'
import {sayRange} from './run.ts'
import {StartProblem} from './start-problem.ts'
import {binDays} from './undo.ts'

type Props = {importId: string; runs: readonly Run[]; isHindered: boolean; onStarted: (run: string) => void}

/** Starts a run that deletes records. A builder must type the number of records that the dry run found. */
export const DeleteForm = ({importId, runs, isHindered, onStarted}: Props) => {
  const [isAsking, setAsking] = useState(false)
  const deletes = countDeletes(runs)
  if (!may('operator')) return null
  if (!may('builder')) return html`<p class="quiet">${t.thisImportDeletesRecordsAskA}</p>`
  if (deletes === null) return html`<p class="quiet">${t.thisImportDeletesRecordsThePreview}</p>`
  if (deletes === 0) return html`<p class="quiet">${t.noRowMatchesExactlyOneRecordSo}</p>`
  return html`
    <div class="actions"><${Button} kind="danger" disabled=${isHindered} onClick=${() => setAsking(true)}>${t.deleteRecords(deletes)}<//></div>
    ${isAsking && html`<${ConfirmDeletes} importId=${importId} deletes=${deletes} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
  `
}

type ConfirmProps = Pick<Props, 'importId' | 'onStarted'> & {deletes: number; plan?: object; onClose: () => void}

/** Asks for the number of records that a run would delete, and starts the run. `plan`: the sealed plan that the run applies. */
export const ConfirmDeletes = ({importId, deletes, plan, onStarted, onClose}: ConfirmProps) => {
  const [typed, setTyped] = useState('')
  const start = async () => {
    if (typed.trim() !== String(deletes)) throw new Error(t.typeToDeleteTheseRecords(deletes))
    const {run} = await client.post<{run: Json}>(inOrg(`/imports/${importId}/runs`), {...plan, confirmDeletes: deletes})
    onStarted(run.id)
  }
  const problem = (error: unknown) => html`<${StartProblem} error=${error} importId=${importId} />`
  return html`
    <${Confirm} title=${t.deleteRecordsInTheCrm(deletes)} action=${t.deleteWord} isDangerous work=${start} problem=${problem} onClose=${onClose}>
      <p>${t.rowsThatMatchNoRecordOrSeveral(binDays)}</p>
      <${TextField} label=${t.typeToConfirm(deletes)} value=${typed} onInput=${setTyped} inputmode="numeric" autocomplete="off" />
    <//>
  `
}

/** Returns how many records the newest ended run would delete. Null unless that run is an up-to-date, complete dry run over all rows. */
const countDeletes = (runs: readonly Run[]): number | null => {
  const newest = runs.find(({endedAt}) => endedAt !== null)
  const isWhole = newest?.dryRun && newest.stale === false && !newest.stop && !sayRange(newest.rows) && !newest.retryOf && !newest.undoOf
  return isWhole ? (newest.deleted ?? 0) : null
}

/** Says how many records a run deleted. Null if it deleted none, and for dry runs and undos. */
export const sayDeleted = ({deleted = 0, dryRun, undoOf}: Run): string | null =>
  deleted === 0 || dryRun || undoOf ? null : t.recordsWereDeleted(deleted)
