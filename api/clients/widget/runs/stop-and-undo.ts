import {useState} from 'preact/hooks'
import {pause} from '../../pause.ts'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/undo.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import type {Run} from './run.ts'
import {readUndo, startUndo} from './undo.ts'

const lookMs = 500

/** Stops a held run, waits until it has ended, and undoes what it wrote. Shown only if the active run is the API's only reason to refuse the undo. */
export const StopAndUndo = ({importId, run}: {importId: string; run: Run}) => {
  const [isAsking, setAsking] = useState(false)
  const {data: undo} = useLoad(signal => readUndo(importId, run.id, signal), [run.id])
  const stopAndUndo = async () => {
    const goOn = goIfHere()
    const path = inOrg(`/imports/${importId}/runs/${run.id}`)
    await client.post(`${path}/cancel`)
    while ((await client.get<{run: Run}>(path)).run.state !== 'ended') await pause(lookMs)
    goOn(to('imports', importId, 'run', {run: await startUndo(importId, run.id, {})}))
  }
  if (undo?.why !== 'RUN_ACTIVE') return null
  return html`
    <${Button} kind="danger" onClick=${() => setAsking(true)}>${t.stopAndUndo}<//>
    ${
      isAsking &&
      html`
        <${Confirm} title=${t.stopAndUndoQuestion} action=${t.stopAndUndo} isDangerous work=${stopAndUndo} onClose=${() => setAsking(false)}>
          <p>${t.writtenRowsAreUndone(run.rowsWritten)}</p>
        <//>
      `
    }
  `
}
