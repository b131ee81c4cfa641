import {useState} from 'preact/hooks'
import {describeUndone} from '../../run-state.ts'
import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, count, plural} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {runsOf} from './choose.ts'
import type {Run} from './run.ts'

type UndoStatus = {available: boolean; until: string | null; why: string | null; undoneBy: string | null}
type OnStarted = (run: string) => void

/** Starts an undo of a run, or a dry run of that undo. Returns the id of the new run. */
export const startUndo = async (importId: string, run: string, body: {dryRun?: true}) => {
  const {run: begun} = await client.post<{run: Run}>(inOrg(`/imports/${importId}/runs/${run}/undo`), body)
  return begun.id
}

/** Asks whether a run can be undone. */
export const readUndo = async (importId: string, run: string, signal?: AbortSignal): Promise<UndoStatus> =>
  (await client.get<{undo: UndoStatus}>(inOrg(`/imports/${importId}/runs/${run}/undo`), {}, signal)).undo

/** Whether a run is of the kind that can be undone. */
export const canUndo = ({dryRun, state, engine, expiredAt}: Run): boolean =>
  !dryRun && state === 'ended' && engine !== 'outside' && !expiredAt

/** Offers to undo an ended run. The first step is a preview, which writes nothing. */
export const Undo = ({importId, run, onStarted}: {importId: string; run: Run; onStarted: OnStarted}) => {
  const canBe = canUndo(run)
  const {
    data: undo,
    error,
    again,
  } = useLoad<UndoStatus | null>(async signal => (canBe ? readUndo(importId, run.id, signal) : null), [run.id, canBe])
  if (error) return html`<${Problem} error=${error} again=${again} />`
  if (undo?.undoneBy)
    return html`<p class="carried-on">This run was undone. <a href=${to('imports', importId, 'run', {run: undo.undoneBy})}>View the undo</a></p>`
  if (undo?.why === 'UNDO_EXPIRED' && undo.until) return html`<p class="quiet">This run could be undone until ${at(undo.until)}.</p>`
  if (!undo?.available || !may('builder')) return null
  return html`
    <section class="sheet" aria-labelledby="undo">
      <h2 id="undo">${run.undoOf ? 'Take the undo back' : 'Undo'}</h2>
      <p>${whatUndoDoes(run)} Values and records that were changed since are kept.${undo.until && ` Possible until ${at(undo.until)}.`}</p>
      <${Preview} importId=${importId} run=${run.id} onStarted=${onStarted} />
    </section>
  `
}

const whatUndoDoes = ({undoOf}: Run): string =>
  undoOf
    ? 'Writes the values of the import again, and restores deleted records from the recycle bin of the CRM.'
    : 'Restores the values that this run replaced, and deletes the records that it created.'

const Preview = ({importId, run, onStarted}: {importId: string; run: string; onStarted: OnStarted}) => {
  const [problem, setProblem] = useState<unknown>(null)
  const preview = async () => {
    setProblem(null)
    try {
      onStarted(await startUndo(importId, run, {dryRun: true}))
    } catch (error) {
      setProblem(error)
    }
  }
  return html`<${Problem} error=${problem} /><${Button} onClick=${preview}>Preview the undo<//>`
}

type ResultProps = {run: Run; importId: string; known: LoadedImport; onStarted: OnStarted}

/** Says what an undo did. For a preview: what it would do, with the button that does it. */
export const UndoResult = ({run, importId, known, onStarted}: ResultProps) => {
  const [isAsking, setAsking] = useState(false)
  const said = describeUndone(run, count)
  if (!run.undoOf || said === null) return null
  const link = html`<a href=${to('imports', importId, 'run', {run: run.undoOf})}>View the undone run</a>`
  if (!run.dryRun) return html`<${Notice} title=${`Rows: ${said}`}>${link}<//>`
  const {restored, deleted} = run.undo!
  const isDone = runsOf(known).some(one => one.undoOf === run.undoOf && !one.dryRun)
  const canStart = restored + deleted > 0 && !run.stop && !isDone && may('builder')
  const actions: Markup =
    canStart && html`<${Button} kind="main" onClick=${() => setAsking(true)}>Undo ${plural(restored + deleted, 'row')}<//>`
  return html`
    <${Notice} title=${`Preview: ${said}`} actions=${actions}>Nothing was written yet. <a href=${to('imports', importId, 'results', {run: run.id})}>View rows</a><//>
    ${
      isAsking &&
      html`
        <${Confirm}
          title=${`Undo ${plural(restored + deleted, 'row')}?`} action="Undo" isDangerous
          work=${async () => onStarted(await startUndo(importId, run.undoOf!, {}))} onClose=${() => setAsking(false)}
        >
          <p>${said}. The preview counts what the CRM held then. What people change in the meantime is kept too.</p>
          ${deleted > 0 && html`<p>Deleted records stay in the recycle bin of the CRM for 60 days.</p>`}
        <//>
      `
    }
  `
}
