import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {t} from '../text/runs.ts'
import {t as undo} from '../text/undo.ts'
import {Problem} from '../ui/notice.ts'
import {useRun} from './live.ts'
import {LiveSheet} from './live-sheet.ts'
import {isOver, type Run} from './run.ts'
import {useStopAndUndo} from './stop-and-undo.ts'

type FollowedProps = {id: string; runId: string; known: LoadedImport; isAlways?: boolean; children: (run: Run) => Markup}

/** Follows a run and shows its progress. `children` renders the run after its end, or always if `isAlways` is set. Use a `key` per run. */
export const Followed = ({id, runId, known, isAlways = false, children}: FollowedProps) => {
  const live = useRun(id, runId, () => known.again())
  const {run} = live
  const stopAndUndo = useStopAndUndo(id, runId)
  return html`
    <${Problem} error=${live.error} again=${live.again} />
    <${Problem} error=${stopAndUndo.error} title=${undo.couldNotStopAndUndo} />
    ${!run && !live.error && html`<p class="loading" role="status">${t.loading}</p>`}
    ${run && (isAlways || isOver(run) ? children(run) : html`<${LiveSheet} importId=${id} run=${run} live=${live} stopAndUndo=${stopAndUndo.run} />`)}
  `
}
