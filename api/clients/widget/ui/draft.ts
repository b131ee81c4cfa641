import {useEffect, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'

export type Draft<T> = {draft: T; set: (change: Partial<T>) => void; reset: () => void; isDirty: boolean}

/** The edited values of a form that is saved by its button. While they differ from the saved ones, the browser asks before the page is left. */
export const useDraft = <T extends object>(saved: T): Draft<T> => {
  const [draft, setDraft] = useState(saved)
  const isDirty = JSON.stringify(draft) !== JSON.stringify(saved)
  useEffect(() => {
    if (!isDirty) return
    const gone = new AbortController()
    addEventListener('beforeunload', event => event.preventDefault(), {signal: gone.signal})
    addEventListener('click', askBeforeLink, {signal: gone.signal, capture: true})
    return () => gone.abort()
  }, [isDirty])
  return {draft, set: change => setDraft({...draft, ...change}), reset: () => setDraft(saved), isDirty}
}

/** Asks before a link of the widget leaves the form. The browser itself asks only before another page is loaded. */
const askBeforeLink = (event: MouseEvent) => {
  const link = event.target instanceof Element && event.target.closest('a[href^="#/"]')
  if (!link || event.ctrlKey || event.metaKey || confirm(t.leaveWithoutSaving)) return
  event.preventDefault()
  event.stopPropagation()
}

/** `isMain`: whether saving is the main action of the page. */
type SaveProps = {of: Draft<never>; isBusy: boolean; isMain?: boolean}

/** The buttons of such a form. Nothing can be saved before something is changed. */
export const SaveActions = ({of: {isDirty, reset}, isBusy, isMain = true}: SaveProps) => html`
  <div class="actions">
    <${Button} kind=${isMain ? 'main' : 'plain'} type="submit" isBusy=${isBusy} disabled=${!isDirty}>${t.save}<//>
    ${isDirty && html`<${Button} disabled=${isBusy} onClick=${reset}>${t.discardChanges}<//>`}
    <span class="quiet" role="status">${isDirty && t.unsavedChanges}</span>
  </div>
`
