import {useEffect} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {go, to} from '../state/place.ts'
import {t} from '../text/files.ts'
import {Problem} from '../ui/notice.ts'
import {useImport} from './known.ts'
import {stepsOf} from './steps.ts'

/**
 * Redirects to the results if the import has a run that is not a dry run. Without such a run, redirects to the review if matching is done, else to
 * the match step.
 */
export const ImportHome = ({params: {id}}: PageProps) => {
  const {known, error, again} = useImport(id!)
  useEffect(() => {
    if (!known) return
    const hasRun = known.runs.some(({dryRun}) => !dryRun)
    const next = hasRun ? 'results' : stepsOf(known)[0]!.state === 'done' ? 'review' : 'match'
    go(to('imports', id!, next), {replace: true})
  }, [known !== null])
  return html`<${Problem} error=${error} again=${again} />${!error && html`<p class="loading" role="status">${t.loading}</p>`}`
}
