import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {count} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {useRun} from './live.ts'
import {WhyNotice} from './live-sheet.ts'

type Props = {id: string; runId: string; again: () => Promise<void>}

/** Follows an active dry run, and reloads the import when the dry run ends. */
export const ActiveDryRun = ({id, runId, again}: Props) => {
  const live = useRun(id, runId, () => again())
  const {run} = live
  const {done, total} = run?.progress ?? {done: 0, total: null}
  return html`
    <${Problem} error=${live.error} again=${live.again} />
    <${Progress} label=${t.previewingRows} done=${done} total=${total} text=${total === null ? t.previewing : t.ofRowsPreviewed(count(done), total)} />
    ${run?.state === 'paused' && html`<${WhyNotice} run=${run} />`}
  `
}
