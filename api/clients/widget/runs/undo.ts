import {useState} from 'preact/hooks'
import {describeUndone} from '../../run-state.ts'
import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, count} from '../ui/format.ts'
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
    return html`<p class="carried-on">${t.thisRunWasUndone} <a href=${to('imports', importId, 'run', {run: undo.undoneBy})}>${t.viewTheUndo}</a></p>`
  if (undo?.why === 'UNDO_EXPIRED' && undo.until) return html`<p class="quiet">${t.thisRunCouldBeUndoneUntil(at(undo.until))}</p>`
  if (!undo?.available || !may('builder')) return null
  return html`
    <section class="sheet" aria-labelledby="undo">
      <h2 id="undo">${run.undoOf ? t.takeTheUndoBack : t.undo}</h2>
      <p>${t.valuesAndRecordsThatWereChanged(whatUndoDoes(run))}${undo.until && t.possibleUntil(at(undo.until))}</p>
      <${Preview} importId=${importId} run=${run.id} onStarted=${onStarted} />
    </section>
  `
}

const whatUndoDoes = ({undoOf}: Run): string => (undoOf ? t.writesTheValuesOfTheImportAgain : t.restoresTheValuesThatThisRun)

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
  return html`<${Problem} error=${problem} /><${Button} onClick=${preview}>${t.previewTheUndo}<//>`
}

type ResultProps = {run: Run; importId: string; known: LoadedImport; onStarted: OnStarted}

/** Says what an undo did. For a preview: what it would do, with the button that does it. */
export const UndoResult = ({run, importId, known, onStarted}: ResultProps) => {
  const [isAsking, setAsking] = useState(false)
  const said = describeUndone(run, count, t.undoStates)
  if (!run.undoOf || said === null) return null
  const link = html`<a href=${to('imports', importId, 'run', {run: run.undoOf})}>${t.viewTheUndoneRun}</a>`
  if (!run.dryRun) return html`<${Notice} title=${t.rowsSaid(said)}>${link}<//>`
  const {restored, deleted} = run.undo!
  const isDone = runsOf(known).some(one => one.undoOf === run.undoOf && !one.dryRun)
  const canStart = restored + deleted > 0 && !run.stop && !isDone && may('builder')
  const actions: Markup = canStart && html`<${Button} kind="main" onClick=${() => setAsking(true)}>${t.undoRows(restored + deleted)}<//>`
  return html`
    <${Notice} title=${t.preview(said)} actions=${actions}>${t.nothingWasWrittenYet} <a href=${to('imports', importId, 'results', {run: run.id})}>${t.viewRows}</a><//>
    ${
      isAsking &&
      html`
        <${Confirm}
          title=${t.undoQuestion(restored + deleted)} action=${t.undo} isDangerous
          work=${async () => onStarted(await startUndo(importId, run.undoOf!, {}))} onClose=${() => setAsking(false)}
        >
          <p>${t.thePreviewCountsWhatTheCrmHeld(said)}</p>
          ${deleted > 0 && html`<p>${t.deletedRecordsStayInTheRecycleBin}</p>`}
        <//>
      `
    }
  `
}
