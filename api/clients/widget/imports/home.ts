import {useEffect} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {go, to} from '../state/place.ts'
import {Problem} from '../ui/notice.ts'
import {useImport} from './known.ts'
import {stepsOf} from './steps.ts'

/** An import is opened where it is to be gone on with: at the first step that is not done, at its results when all are. */
export const ImportHome = ({params: {id}}: PageProps) => {
  const {known, error, again} = useImport(id!)
  useEffect(() => {
    if (!known) return
    const hasRun = known.runs?.some(({dryRun}) => !dryRun)
    const next = hasRun ? 'results' : (stepsOf(known).find(({state, key}) => state !== 'done' && key !== 'try')?.key ?? 'run')
    go(to('imports', id!, next), {replace: true})
  }, [known !== null])
  return html`<${Problem} error=${error} again=${again} />${!error && html`<p class="loading" role="status">Loading …</p>`}`
}
