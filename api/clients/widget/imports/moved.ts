import {useEffect} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {go, place, to} from '../state/place.ts'
import {t} from '../text/files.ts'
import {Page} from '../ui/page.ts'
import type {StepKey} from './steps.ts'

/** The current step for each step of earlier versions, so that old bookmarks and links in notices still work. */
const moved: Record<string, StepKey> = {files: 'match', columns: 'match', mapping: 'match', check: 'review', try: 'review'}

export const MovedStep = ({params: {id, old}}: PageProps) => {
  const step = moved[old!]
  useEffect(() => {
    if (step) go(to('imports', id!, step, Object.fromEntries(place.value.query)), {replace: true})
  }, [step])
  return step
    ? html`<p class="loading" role="status">${t.loading}</p>`
    : html`<${Page} title=${t.pageNotFound}><p><a href="#/">${t.goToImports}</a></p><//>`
}
