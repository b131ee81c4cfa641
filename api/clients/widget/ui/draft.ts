import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {askBeforeHistory, go} from '../state/place.ts'
import {t} from '../text/shell.ts'
import {Button} from './button.ts'
import {mergeDraft} from './merge-draft.ts'

export type Draft<T> = {draft: T; set: (change: Partial<T>) => void; reset: () => void; isDirty: boolean}

/** How many forms of the page have unsaved changes. */
let dirtyForms = 0

/** Asks for confirmation if a form has unsaved changes. Call it before an action other than a link leaves the page. */
export const mayLeave = (): boolean => dirtyForms === 0 || confirm(t.leaveWithoutSaving)
askBeforeHistory(mayLeave)

/**
 * Keeps the edited values of a form with a save button. While they differ from `saved`, the browser asks before the page is left. If `saved` changes,
 * the unsaved changes stay, and the other values follow `saved`.
 */
export const useDraft = <T extends object>(saved: T): Draft<T> => {
  const held = useRef({draft: saved, saved})
  const [, render] = useState({})
  held.current = {draft: mergeDraft(held.current.draft, {before: held.current.saved, saved}), saved}
  const {draft} = held.current
  const keep = (next: T) => {
    held.current.draft = next
    render({})
  }
  const isDirty = JSON.stringify(draft) !== JSON.stringify(saved)
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
  return {draft, set: change => keep({...held.current.draft, ...change}), reset: () => keep(held.current.saved), isDirty}
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
