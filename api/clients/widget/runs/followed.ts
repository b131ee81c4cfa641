import {html, type Markup} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {t} from '../text/runs.ts'
import {Problem} from '../ui/notice.ts'
import {useRun} from './live.ts'
import {LiveSheet} from './live-sheet.ts'
import {isOver, type Run} from './run.ts'

type FollowedProps = {id: string; runId: string; known: LoadedImport; isAlways?: boolean; children: (run: Run) => Markup}

/** Follows a run and shows its progress. `children` renders the run after its end, or always if `isAlways` is set. Use a `key` per run. */
export const Followed = ({id, runId, known, isAlways = false, children}: FollowedProps) => {
  const live = useRun(id, runId, () => known.again())
  const {run} = live
  return html`
    <${Problem} error=${live.error} again=${() => known.again()} />
    ${!run && !live.error && html`<p class="loading" role="status">${t.loading}</p>`}
    ${run && (isAlways || isOver(run) ? children(run) : html`<${LiveSheet} importId=${id} run=${run} live=${live} />`)}
  `
}
