import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {TextField} from '../ui/field.ts'
import {count, plural} from '../ui/format.ts'
import type {Run} from './run.ts'
import {sayRange} from './run.ts'
import {binDays} from './undo.ts'

type Props = {importId: string; runs: readonly Run[]; isHindered: boolean; onStarted: (run: string) => void}

/** Starts a run that deletes records. A builder must type the number of records that the dry run found. */
export const DeleteForm = ({importId, runs, isHindered, onStarted}: Props) => {
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const deletes = countDeletes(runs)
  if (!may('operator')) return null
  if (!may('builder')) return html`<p class="quiet">This import deletes records. Ask a builder or an admin to start it.</p>`
  if (deletes === null) return html`<p class="quiet">This import deletes records. The preview counts them first.</p>`
  if (deletes === 0) return html`<p class="quiet">No row matches exactly one record, so nothing would be deleted.</p>`
  const start = async () => {
    if (typed.trim() !== String(deletes)) throw new Error(`Type ${deletes} to delete these records.`)
    const {run} = await client.post<{run: Json}>(inOrg(`/imports/${importId}/runs`), {confirmDeletes: deletes})
    onStarted(run.id)
  }
  return html`
    <div class="actions"><${Button} kind="danger" disabled=${isHindered} onClick=${() => setAsking(true)}>Delete ${plural(deletes, 'record')} …<//></div>
    ${
      isAsking &&
      html`
        <${Confirm} title=${`Delete ${plural(deletes, 'record')} in the CRM?`} action="Delete" isDangerous work=${start} onClose=${() => setAsking(false)}>
          <p>Rows that match no record or several delete none. Deleted records stay in the recycle bin of the CRM for ${binDays} days.</p>
          <${TextField} label=${`Type ${deletes} to confirm`} value=${typed} onInput=${setTyped} inputmode="numeric" autocomplete="off" />
        <//>
      `
    }
  `
}

/** Returns how many records the newest dry run would delete. Null if a run ended after it, or if it does not show the whole import as it is now. */
const countDeletes = (runs: readonly Run[]): number | null => {
  const newest = runs.find(({endedAt}) => endedAt !== null)
  const isWhole = newest?.dryRun && newest.stale === false && !newest.stop && !sayRange(newest.rows) && !newest.retryOf && !newest.undoOf
  return isWhole ? (newest.deleted ?? 0) : null
}

/** Says how many records a run deleted. Null for a run that deletes none, and for an undo. */
export const sayDeleted = ({deleted = 0, dryRun, undoOf}: Run): string | null =>
  deleted === 0 || dryRun || undoOf ? null : `${count(deleted)} ${deleted === 1 ? 'record was' : 'records were'} deleted`
