import {useState} from 'preact/hooks'
import {isFinal} from '../../follow-run.ts'
import {pause} from '../../pause.ts'
import {html} from '../html.ts'
import {type Doing, useDoing, useLoad} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/undo.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import type {Run} from './run.ts'
import {readUndo, startUndo} from './undo.ts'

const lookMs = 500

/**
 * Stops a held run, waits until it has ended, and undoes what it wrote. The page that uses this hook must show its error, because `StopAndUndo`
 * disappears once the run stops.
 */
export const useStopAndUndo = (importId: string, runId: string): Doing<[]> =>
  useDoing(async () => {
    const goOn = goIfHere()
    const path = inOrg(`/imports/${importId}/runs/${runId}`)
    await client.post(`${path}/cancel`)
    while (!(await hasEnded(path))) await pause(lookMs)
    goOn(to('imports', importId, 'run', {run: await startUndo(importId, runId, {})}))
  })

/** False too if the request failed and a retry may succeed. */
const hasEnded = (path: string) =>
  client.get<{run: Run}>(path).then(
    ({run}) => run.state === 'ended',
    error => {
      if (isFinal(error)) throw error
      return false
    },
  )

/** Shown only if the active run is the API's only reason to refuse the undo. */
export const StopAndUndo = ({importId, run, work}: {importId: string; run: Run; work: () => Promise<void>}) => {
  const [isAsking, setAsking] = useState(false)
  const {data: undo} = useLoad(signal => readUndo(importId, run.id, signal), [run.id])
  if (undo?.why !== 'RUN_ACTIVE') return null
  return html`
    <${Button} kind="danger" onClick=${() => setAsking(true)}>${t.stopAndUndo}<//>
    ${
      isAsking &&
      html`
        <${Confirm} title=${t.stopAndUndoQuestion} action=${t.stopAndUndo} isDangerous work=${work} onClose=${() => setAsking(false)}>
          <p>${t.writtenRowsAreUndone(run.rowsWritten)}</p>
        <//>
      `
    }
  `
}
