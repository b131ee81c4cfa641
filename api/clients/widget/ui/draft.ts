import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {askBeforeHistory, go} from '../state/place.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'
import {mergeDraft} from './merge-draft.ts'

/** `keepSaved`: takes the values that the server saved, so that the page can be left before it has loaded them again. */
export type Draft<T> = {
  draft: T
  set: (change: Partial<T>) => void
  reset: () => void
  keepSaved: (values: T) => void
  isDirty: boolean
}

/** How many forms of the page have unsaved changes. */
let dirtyForms = 0

/** Asks for confirmation if a form has unsaved changes. Call it before an action other than a link leaves the page. */
export const mayLeave = (): boolean => dirtyForms === 0 || confirm(t.leaveWithoutSaving)
askBeforeHistory(mayLeave)

/**
 * Keeps the edited values of a form with a save button. While they differ from the saved values, the browser asks before the page is left. If `saved`
 * changes, the unsaved changes stay, and the other values follow `saved`.
 */
export const useDraft = <T extends object>(saved: T): Draft<T> => {
  const held = useRef({draft: saved, base: saved, loaded: JSON.stringify(saved)})
  const [, render] = useState({})
  const loaded = JSON.stringify(saved)
  if (loaded !== held.current.loaded)
    held.current = {draft: mergeDraft(held.current.draft, {before: held.current.base, saved}), base: saved, loaded}
  const {draft, base} = held.current
  const keep = (next: {draft: T; base?: T}) => {
    Object.assign(held.current, next)
    render({})
  }
  const isDirty = JSON.stringify(draft) !== JSON.stringify(base)
  useEffect(() => {
    if (!isDirty) return
    dirtyForms++
    const gone = new AbortController()
    addEventListener('beforeunload', event => event.preventDefault(), {signal: gone.signal})
    addEventListener('click', askBeforeLink, {signal: gone.signal, capture: true})
    return () => {
      dirtyForms--
      gone.abort()
    }
  }, [isDirty])
  return {
    draft,
    set: change => keep({draft: {...held.current.draft, ...change}}),
    reset: () => keep({draft: held.current.base}),
    keepSaved: values => keep({draft: values, base: values}),
    isDirty,
  }
}

/**
 * Asks for confirmation before a link inside the widget leaves the form. Such a link fires no `beforeunload`, because the document stays loaded.
 * A link to another tab or a download keeps the form open, so it needs no confirmation.
 */
const askBeforeLink = (event: MouseEvent) => {
  const link = event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[href^="#/"]')
  if (!link || link.target || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  if (confirm(t.leaveWithoutSaving)) go(link.getAttribute('href')!)
  else event.stopPropagation()
}

type SaveProps = {of: Draft<never>; isBusy: boolean; isMain?: boolean}

export const SaveActions = ({of: {isDirty, reset}, isBusy, isMain = true}: SaveProps) => html`
  <div class="actions">
    <${Button} kind=${isMain ? 'main' : 'plain'} type="submit" isBusy=${isBusy} disabled=${!isDirty}>${t.save}<//>
    ${isDirty && html`<${Button} disabled=${isBusy} onClick=${reset}>${t.discardChanges}<//>`}
    <span class="quiet" role="status">${isDirty && t.unsavedChanges}</span>
  </div>
`
