import {useState} from 'preact/hooks'
import {describeUndone} from '../../run-state.ts'
import {html, type Markup} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/undo.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at, count} from '../ui/format.ts'
import {Menu} from '../ui/menu.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {isUndoActive, type Run} from './run.ts'

type UndoStatus = {available: boolean; until: string | null; why: string | null; undoneBy: string | null}
type OnStarted = (run: string) => void

/** The days for which the CRM keeps deleted records in its recycle bin. */
export const binDays = 60

/** Starts an undo of a run, or a dry run of that undo. Returns the id of the new run. */
export const startUndo = async (importId: string, run: string, body: {dryRun?: true}) => {
  const {run: begun} = await client.post<{run: Run}>(inOrg(`/imports/${importId}/runs/${run}/undo`), body)
  return begun.id
}

export const readUndo = async (importId: string, run: string, signal?: AbortSignal): Promise<UndoStatus> =>
  (await client.get<{undo: UndoStatus}>(inOrg(`/imports/${importId}/runs/${run}/undo`), {}, signal)).undo

/** Whether an undo may be possible. `readUndo` gives the final answer. */
const canUndo = ({dryRun, state, expiredAt}: Run): boolean => !dryRun && state === 'ended' && !expiredAt

/** Reads whether the run can be undone, as soon as `isAsked` is true. `preview` starts a dry run of the undo and opens its page. */
export const useUndo = (importId: string, run: Run | undefined, isAsked: boolean) => {
  const preview = useDoing(async () => {
    const goOn = goIfHere()
    goOn(to('imports', importId, 'run', {run: await startUndo(importId, run!.id, {dryRun: true})}))
  })
  const offer = useLoad(
    async signal => (isAsked && run && canUndo(run) && may('builder') ? readUndo(importId, run.id, signal) : null),
    [isAsked, run?.id],
  )
  return {preview, offer}
}

/** The menu of a run in a list. When the menu opens, it asks the API whether the run can be undone. */
export const RunMenu = ({run}: {run: Run}) => {
  const [hasOpened, setOpened] = useState(false)
  const {preview, offer} = useUndo(run.importId ?? '', run, hasOpened)
  if (run.importId === null || !canUndo(run) || !may('builder')) return null
  const {data: undo} = offer
  return html`
    <${Menu} label=${t.actionsForTheRunOf(at(run.startedAt ?? run.authorisedAt))} onOpen=${() => setOpened(true)}>
      ${undo?.available && html`<${Button} kind="quiet" onClick=${() => preview.run()}>${t.previewTheUndo}<//>`}
      ${undo?.undoneBy && html`<a class="button quiet" href=${to('imports', run.importId, 'run', {run: undo.undoneBy})}>${t.viewTheUndo}</a>`}
      ${undo && !undo.available && !undo.undoneBy && html`<p class="hint">${undo.why === 'UNDO_EXPIRED' ? t.timeToUndoHasPassed : t.cannotBeUndone}</p>`}
    <//>
    <${Problem} error=${offer.error ?? preview.error} title=${t.couldNotPreviewTheUndo} />
  `
}

/** `runs`: the newest runs of the import. */
type UndoProps = {importId: string; run: Run; runs: readonly Pick<Run, 'id' | 'endedAt'>[]; onStarted: OnStarted}

/** Offers to undo an ended run. The undo begins with a dry run, which writes nothing. */
export const Undo = ({importId, run, runs, onStarted}: UndoProps) => {
  const canBe = canUndo(run)
  const {
    data: undo,
    error,
    again,
  } = useLoad<UndoStatus | null>(async signal => (canBe ? readUndo(importId, run.id, signal) : null), [run.id, canBe])
  if (error) return html`<${Problem} error=${error} again=${again} />`
  if (undo?.undoneBy)
    return html`<p class="carried-on">${isUndoActive(runs, undo.undoneBy) ? t.thisRunIsBeingUndone : t.thisRunWasUndone} <a href=${to('imports', importId, 'run', {run: undo.undoneBy})}>${t.viewTheUndo}</a></p>`
  if (undo?.why === 'UNDO_EXPIRED' && undo.until) return html`<p class="quiet">${t.thisRunCouldBeUndoneUntil(at(undo.until))}</p>`
  if (!undo?.available || !may('builder')) return null
  return html`
    <section class="sheet" aria-labelledby="undo">
      <h2 id="undo">${run.undoOf ? t.takeTheUndoBack : t.undo}</h2>
      <p>${t.valuesAndRecordsThatWereChanged(whatUndoDoes(run))}${undo.until && t.possibleUntil(at(undo.until))}${sayBinEnd(run, undo.until)}</p>
      <${Preview} importId=${importId} run=${run.id} onStarted=${onStarted} />
    </section>
  `
}

/** Says until when deleted records can be restored, if the CRM's recycle bin drops them before the undo expires. */
const sayBinEnd = ({deleted = 0, endedAt}: Run, until: string | null) => {
  const gone = Date.parse(endedAt ?? '') + binDays * 86_400_000
  return deleted > 0 && until && Date.parse(until) > gone && t.canReturnUntil(at(new Date(gone).toISOString()))
}

const whatUndoDoes = ({undoOf}: Run): string => (undoOf ? t.writesTheValuesOfTheImportAgain : t.restoresTheValuesThatThisRun)

const Preview = ({importId, run, onStarted}: {importId: string; run: string; onStarted: OnStarted}) => {
  const preview = useDoing(async () => onStarted(await startUndo(importId, run, {dryRun: true})))
  return html`<${Problem} error=${preview.error} /><${Button} isBusy=${preview.isBusy} onClick=${() => preview.run()}>${t.previewTheUndo}<//>`
}

type ResultProps = {run: Run; importId: string; onStarted: OnStarted}

/** Shows what an undo did. For a dry run, shows what the undo would do, with a button that starts the undo. */
export const UndoResult = ({run, importId, onStarted}: ResultProps) => {
  const [isAsking, setAsking] = useState(false)
  const mayStart = run.dryRun && !run.stop && may('builder')
  // An earlier undo may have stopped or been undone, so only the API knows whether another undo is possible.
  const undo = useLoad<UndoStatus | null>(
    async signal => (mayStart && run.undoOf ? readUndo(importId, run.undoOf, signal) : null),
    [run.id, mayStart],
  )
  const said = describeUndone(run, count, t.undoStates)
  if (!run.undoOf || said === null) return null
  const link = html`<a href=${to('imports', importId, 'run', {run: run.undoOf})}>${t.viewTheUndoneRun}</a>`
  if (!run.dryRun) return html`<${Notice} title=${t.rowsSaid(said)}>${link}<//>`
  const {restored, deleted} = run.undo!
  const canStart = restored + deleted > 0 && undo.data?.available
  const actions: Markup = canStart && html`<${Button} kind="main" onClick=${() => setAsking(true)}>${t.undoRows(restored + deleted)}<//>`
  return html`
    <${Notice} title=${t.preview(said)} actions=${actions}>${t.nothingWasWrittenYet} <a href=${to('imports', importId, 'review', {run: run.id})}>${t.viewRows}</a><//>
    <${Problem} error=${undo.error} again=${undo.again} />
    ${
      isAsking &&
      html`
        <${Confirm}
          title=${t.undoQuestion(restored + deleted)} action=${t.undo} isDangerous
          work=${async () => onStarted(await startUndo(importId, run.undoOf!, {}))} onClose=${() => setAsking(false)}
        >
          <p>${t.thePreviewCountsWhatTheCrmHeld(said)}</p>
          ${deleted > 0 && html`<p>${t.deletedRecordsStayInTheRecycleBin(binDays)}</p>`}
        <//>
      `
    }
  `
}
